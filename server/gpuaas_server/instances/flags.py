"""Instances on bytes that are not trusted any more go on running, and say so. A work row asks, since tenants are many."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.instances import queries
from gpuaas_server.instances.held import hold_any
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection

WORK = "instance_flag"
FLAG = {
    "code": "artifact_revoked",
    "message": "The artifact that it runs from is not trusted any more: upgrade it, or decommission it.",
}


class InstanceFlagMachine:
    """The subject is the digest. What is flagged already is left alone, so that it can run again at any time."""

    kind = WORK

    async def load(self, connection: Connection, subject: str) -> Sequence[str]:
        return await queries.ids_on_digest(connection, subject)

    def decide(self, ids: Sequence[str], now: datetime) -> Sequence[str]:
        return ids

    async def apply(self, tx: Tx, ids: Sequence[str], decision: Sequence[str]) -> None:
        for instance_id in ids:
            held = await hold_any(tx, instance_id)
            if held is not None and FLAG not in held.row["flags"]:
                held.change(flags=[*held.row["flags"], FLAG])
                held.news("instance.flagged", code=FLAG["code"])
                await held.store()
