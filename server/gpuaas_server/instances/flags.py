"""Instances on bytes that are not trusted any more go on running, and say so. A work row asks, since tenants are many."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.instances import queries
from gpuaas_server.instances.held import Held, hold_any
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem

WORK = "instance_flag"
FLAG = {
    "code": "artifact_revoked",
    # Only what runs can be upgraded: see possible_verbs.
    "message": "The artifact that it runs from is not trusted any more: upgrade it (start it first, if it does not run),"
    " or decommission it.",
}


PORTION = 50


def untrusted(row: DictRow) -> bool:
    """By the code: how an older release put it into words says the same."""
    return any(flag["code"] == FLAG["code"] for flag in row["flags"])


def refuse_untrusted(held: Held) -> None:
    """What runs goes on; to another host such bytes are not brought. Nor is that offered: see possible_actions."""
    if untrusted(held.row):
        raise Problem("artifact_revoked", FLAG["message"])


def subject_of(digest: str, publisher_project_id: str) -> str:
    return f"{digest} {publisher_project_id}"


class InstanceFlagMachine:
    """The subject is an artifact: its digest, and whose it is. In portions, since every tenant may run from it; what is
    flagged is left alone, so that it can run again at any time.
    """

    kind = WORK

    async def load(self, connection: Connection, subject: str) -> Sequence[str]:
        digest, _, publisher = subject.partition(" ")
        return await queries.ids_to_flag(connection, digest, publisher, FLAG["code"], PORTION)

    def decide(self, ids: Sequence[str], now: datetime) -> Sequence[str]:
        return ids

    async def apply(self, tx: Tx, ids: Sequence[str], decision: Sequence[str]) -> datetime | None:
        for instance_id in ids:
            held = await hold_any(tx, instance_id)
            if held is not None and not untrusted(held.row):
                held.change(flags=[*held.row["flags"], FLAG])
                held.news("instance.flagged", code=FLAG["code"])
                await held.store()
        return tx.now if len(ids) == PORTION else None
