"""Slurm's packages on a host: from the artifact that the version names by digest, or from the host's own sources."""

import asyncio
import base64
from dataclasses import dataclass, field

from gpuaas_sdk.controller import Context, Host
from gpuaas_slurm import layout
from gpuaas_slurm.facts import Facts, facts_in
from gpuaas_slurm.hostside import Told, ask, ask_in_turn

BUNDLE = f"{layout.PACKAGES}/bundle.tar"
WORKER = ("munge", "slurmd", "slurm-client", "libpmix2")
CONTROLLER = (*WORKER, "slurmctld")
ACCOUNTING = ("slurmdbd", "mariadb-server-core", "mariadb-client-core")
INSTALL_SECONDS = 600.0


def wanted(controller: bool, accounting: bool) -> tuple[str, ...]:
    return (*(CONTROLLER if controller else WORKER), *(ACCOUNTING if controller and accounting else ()))


@dataclass
class Packages:
    """Of one operation: the artifact is fetched once, when the first host asks for it, and for nobody when none does."""

    ctx: Context
    source: str  # artifact or host
    _bytes: bytes | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def install(self, host: Host, names: tuple[str, ...], first: Told) -> Facts | None:
        """`first` is applied to the host before any package is. What the host is then, where nothing had to be brought."""
        told = {
            "folder": layout.PACKAGES,
            "mode": self.source,
            "digest": self.ctx.version.digest,
            "wanted": list(names),
            "bundle": None,
        }
        _, answer, facts = await ask_in_turn(
            host, ("apply", first), ("packages", told), ("facts", {"versions": False}), timeout=INSTALL_SECONDS
        )
        if not answer["needed"]:
            return facts_in(facts)
        await self._send(host)
        await ask(host, "packages", {**told, "bundle": BUNDLE}, INSTALL_SECONDS)
        return None

    async def _send(self, host: Host) -> None:
        async with self._lock:
            if self._bytes is None:
                self._bytes = await self.ctx.fetch_artifact()
        await host.sudo(["install", "-d", "-m", "700", layout.PACKAGES])
        text = base64.b64encode(self._bytes).decode()
        await host.sudo(
            ["sh", "-c", f"base64 -d > {BUNDLE}"],
            stdin=text,
            timeout=INSTALL_SECONDS,
        )
