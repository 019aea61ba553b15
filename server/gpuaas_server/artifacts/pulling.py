"""Runtime secrets, of the one purpose `artifact_pull`: what a host shows to pull one artifact while an operation runs."""

import hashlib
import hmac

from psycopg.rows import DictRow

from gpuaas_server.artifacts import queries
from gpuaas_server.artifacts.stages import Trust
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem

_NO_DIGEST = bytes(32)


def secret_digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


class Pulled:
    """The artifact that a secret opens."""

    def __init__(self, row: DictRow) -> None:
        self.artifact_id: str = row["id"]
        self.kind: str = row["kind"]
        self.location: str = row["location"]


async def secret_opened(platform: Platform, secret_id: str, secret: str) -> Pulled:
    """Whoever shows it is believed until it expires or is revoked, and only for its artifact."""
    async with platform.database.connection(PLATFORM) as connection:
        row = await queries.secret_live(connection, secret_id, platform.clock())
        known = bytes(row["secret_digest"]) if row else _NO_DIGEST
        if not hmac.compare_digest(known, secret_digest(secret)) or row is None:
            raise Problem("bad_credentials")
        artifact = await queries.artifact_load(connection, row["artifact_id"])
        if artifact is None:
            raise Problem("bad_credentials")
        if artifact["trust"] == Trust.REVOKED:
            raise Problem("artifact_revoked", artifact["trust_detail"])
        await queries.secret_used(connection, secret_id, platform.clock())
    return Pulled(artifact)
