"""Installs Slurm's packages: from the artifact of the app version, or from the host's apt sources."""

import asyncio
import base64
from dataclasses import dataclass, field

from gpuaas_sdk.controller import Context, Host
from gpuaas_slurm import layout
from gpuaas_slurm.facts import Facts, parse_facts
from gpuaas_slurm.hostside import ProgramInput, run_program, run_programs

BUNDLE = f"{layout.PACKAGES}/bundle.tar"
WORKER = ("munge", "slurmd", "slurm-client", "libpmix2")
CONTROLLER = (*WORKER, "slurmctld")
ACCOUNTING = ("slurmdbd", "mariadb-server-core", "mariadb-client-core")
INSTALL_SECONDS = 600.0


def required_packages(controller: bool, accounting: bool) -> tuple[str, ...]:
    return (*(CONTROLLER if controller else WORKER), *(ACCOUNTING if controller and accounting else ()))


@dataclass
class Packages:
    """The packages of one operation. The artifact is fetched once, and only if a host needs it."""

    ctx: Context
    source: str  # artifact or host
    _bytes: bytes | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def install(self, host: Host, names: tuple[str, ...], first: ProgramInput) -> Facts | None:
        """Installs the packages after applying `first`. Returns the facts of the host if nothing had to be installed."""
        request = {
            "folder": layout.PACKAGES,
            "mode": self.source,
            "digest": self.ctx.version.digest,
            "wanted": list(names),
            "bundle": None,
        }
        _, answer, facts = await run_programs(
            host, ("apply", first), ("packages", request), ("facts", {"versions": False}), timeout=INSTALL_SECONDS
        )
        if not answer["needed"]:
            return parse_facts(facts)
        await self._send(host)
        await run_program(host, "packages", {**request, "bundle": BUNDLE}, INSTALL_SECONDS)
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
