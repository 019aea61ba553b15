"""What this room asks of, and tells, the rooms of apps: imported where it is used, since they import this room too."""

from importlib import import_module
from typing import Any

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection


async def live_instances(connection: Connection, digest: str) -> int:
    verb = _verb("instances", "live_on_digest")
    return 0 if verb is None else int(await verb(connection, digest))


async def active_versions(connection: Connection, project_id: str, digest: str) -> int:
    """Active app versions of the publishing project that refer to the digest."""
    verb = _verb("catalog", "active_versions_on_digest")
    return 0 if verb is None else int(await verb(connection, project_id, digest))


async def digest_flagged(tx: Tx, digest: str, reason: str) -> None:
    verb = _verb("instances", "digest_flagged")
    if verb is not None:
        await verb(tx, digest, reason)


def _verb(room: str, name: str) -> Any:
    """None while the room is not built yet: then nothing runs, and nothing refers to an artifact."""
    try:
        return getattr(import_module(f"gpuaas_server.{room}.service"), name, None)
    except ModuleNotFoundError:
        return None
