"""The part of a host that installs: files, folders, users, packages, artifacts and units, each recorded on the host.

Every call looks first and changes only what differs, so a handler that is repeated after a crash goes on where it was.
"""

import base64
import json
import re
from abc import ABC, abstractmethod
from asyncio import to_thread
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpuaas_sdk.controller.artifact import PublishedArtifact
from gpuaas_sdk.controller.failures import Failed
from gpuaas_sdk.controller.footprints import InstalledThings
from gpuaas_sdk.controller.hostside import installer_command
from gpuaas_sdk.controller.units import check_unit_name, check_user_name, unit_text

INSTALL_SECONDS = 600.0
SLOWEST_DOWNLOAD = 8 << 20  # bytes a second
LISTEN_SECONDS = 30.0
MAX_CONTENT = (
    64 << 20
)  # it travels through this process; a larger thing is an artifact, which hosts download themselves
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]*")
_RETRYABLE = ("artifact_unreachable", "package_failed", "disk_full")


class HostInstaller(ABC):
    """Installs things on a host and knows what it has installed: `remove_all` removes that, and nothing else."""

    def __init__(self, address: str, environment: Mapping[str, str]) -> None:
        self.address = address
        self.installed = InstalledThings()
        self._environment = environment

    async def put(
        self,
        path: str,
        content: str | bytes | Path | PublishedArtifact,
        *,
        owner: str = "root",
        mode: int = 0o644,
    ) -> bool:
        """Write a file: text, bytes, a file of the controller's, or the published artifact, which the host downloads.
        Readers see the old content or the new one. Returns whether anything changed.
        """
        self.installed.paths.append(_check_path(path))
        place: dict[str, object] = {"path": path, "owner": owner, "mode": mode}
        if isinstance(content, PublishedArtifact):
            pull = await content.pull_document()  # noqa: ASYNC240 - not a path
            return await self._install_within(_download_seconds(pull), "put_artifact", **place, **pull)
        data = await to_thread(content.read_bytes) if isinstance(content, Path) else content
        data = data.encode() if isinstance(data, str) else data
        if len(data) > MAX_CONTENT:
            message = f"The content of {path} has more than {MAX_CONTENT >> 20} MiB."
            raise Failed("content_too_large", message, next_step="Publish it as an artifact.")
        return await self._install("put", **place, content=base64.b64encode(data).decode())

    async def folder(self, path: str, *, owner: str = "root", mode: int = 0o755) -> bool:
        """Make a folder, or correct its owner and mode. Returns whether anything changed."""
        self.installed.paths.append(_check_path(path))
        return await self._install("folder", path=path, owner=owner, mode=mode)

    async def unpack(
        self, path: str, artifact: PublishedArtifact, *, owner: str = "root", strip_folders: int = 0
    ) -> bool:
        """Unpack the published artifact, a tar archive, into this folder. The host downloads it, checks its digest, and
        puts the folder in place as a whole; what was in it is gone. Returns whether anything changed.
        """
        self.installed.paths.append(_check_path(path))
        pull = await artifact.pull_document()
        limit = 2 * _download_seconds(pull)  # it is written twice
        return await self._install_within(limit, "unpack", path=path, owner=owner, strip=strip_folders, **pull)

    async def user(self, name: str, *, home: str | None = None) -> bool:
        """Make a system user that nobody can log in as. A user that the host had before stays when the app goes."""
        self.installed.users.append(check_user_name(name))
        return await self._install("user", name=name, home=None if home is None else _check_path(home))

    async def package(self, *names: str) -> bool:
        """Install packages from the host's own sources. Those that were new on the host are removed with the app."""
        for name in names:
            if not _PACKAGE.fullmatch(name):
                raise ValueError(f"{name[:80]!r} is not the name of a package")
        return await self._install("package", names=names)

    async def unit(
        self,
        name: str,
        command: Sequence[str],
        *,
        user: str = "root",
        description: str = "",
        environment: Mapping[str, str] | None = None,
        settings: Mapping[str, str] | None = None,
        files: Sequence[str] = (),
        listens: Sequence[int] = (),
        restart: bool = False,
    ) -> bool:
        """Run a command as a systemd service, also after a reboot, and wait until it listens on its ports.

        It is restarted when its text, its program or one of `files` differs from what it was started with, also when an
        earlier attempt changed them. `settings` are further lines of its [Service] section. Returns whether it was started.
        """
        self.installed.units.append(check_unit_name(name))
        self.installed.ports.extend(listens)
        text = unit_text(
            command,
            user=user,
            description=description or name,
            environment={**self._environment, **(environment or {})},
            settings=settings or {},
        )
        watched = [command[0], *map(_check_path, files)]
        return await self._install(
            "unit", name=name, text=text, files=watched, listens=listens, restart=restart, seconds=LISTEN_SECONDS
        )

    async def stop_unit(self, name: str) -> None:
        """Stop a unit, so that a reboot does not start it either."""
        await self._send("stop_unit", {"name": check_unit_name(name)})

    async def remove_all(self) -> list[str]:
        """Remove everything that these calls have installed on the host for this instance, in any operation: units first,
        then packages, files and users. Returns what was removed.
        """
        removed = (await self._send("remove_all", {})).get("removed")
        return [str(one) for one in removed] if isinstance(removed, list) else []

    async def _install(self, action: str, **request: object) -> bool:
        return await self._install_within(INSTALL_SECONDS, action, **request)

    async def _install_within(self, seconds: float, action: str, /, **request: object) -> bool:
        return bool((await self._send(action, request, seconds)).get("changed"))

    async def _send(
        self, action: str, request: Mapping[str, object], timeout: float = INSTALL_SECONDS
    ) -> dict[str, object]:
        line = json.dumps({"action": action, "instance": self._environment["GPUAAS_INSTANCE"], **request})
        reply = json.loads(await self.request(installer_command(), line, timeout=timeout))
        if "failed" in reply:
            code, message = str(reply["failed"]["code"]), str(reply["failed"]["message"])
            raise Failed(code, f"{self.address}: {message}.", retryable=code in _RETRYABLE)
        done: dict[str, object] = reply["done"]
        return done

    @abstractmethod
    async def request(self, argv: Sequence[str], line: str, *, timeout: float) -> str:
        """Send a line to a program that runs as root and answers each line with one; return its answer."""


def _download_seconds(document: Mapping[str, object]) -> float:
    """Return how long a host may take for a download. The operation's own deadline ends it before."""
    pull = document.get("pull")
    size = pull.get("size_bytes") if isinstance(pull, dict) else None
    return INSTALL_SECONDS + (size or 0) / SLOWEST_DOWNLOAD


def _check_path(path: str) -> str:
    """Raises ValueError for a path that is not absolute and straight: it becomes part of a record that removes it."""
    parts = path.split("/")
    if parts[0] != "" or len(parts) < 3 or {"", ".", ".."} & set(parts[1:]) or not path.isprintable():
        raise ValueError(f"{path[:80]!r} is not an absolute path below the first folder")
    return path
