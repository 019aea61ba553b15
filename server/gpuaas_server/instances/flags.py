"""Instances on bytes that are not trusted any more go on running, and say so; so do those that could return to such bytes.

A work row looks, since tenants are many: in portions, each of which asks for the next one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from gpuaas_server.instances import queries, version_gate
from gpuaas_server.instances.held import Held, hold_any
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.operations.ending import refuse_unclaimed
from gpuaas_server.work import leases

WORK = "instance_flag"
PORTION = 50


def artifact_subject(digest: str, publisher_project_id: str) -> str:
    return f"{digest} {publisher_project_id}"


def version_subject(version_id: str) -> str:
    return f"version {version_id}"


def tenant_subject(tenant_id: str) -> str:
    return f"tenant {tenant_id}"


@dataclass(frozen=True, slots=True)
class FlagPortion:
    """Whose flags are derived anew; `about` names what changed, without the place to go on from."""

    about: str
    ids: Sequence[str]


class InstanceFlagMachine:
    """The subject is what changed: an artifact (its digest, and whose it is), a version, or what a tenant trusts; then
    the instance after which to go on. Flags are derived from the facts, so it can run again at any time.
    """

    kind = WORK

    async def load(self, connection: Connection, subject: str) -> FlagPortion:
        first, second, after = (*subject.split(" "), "")[:3]
        if first == "version":
            ids = await queries.ids_with_version(connection, second, after, PORTION)
        elif first == "tenant":
            ids = await queries.ids_of_tenant(connection, second, after, PORTION)
        else:
            ids = await queries.ids_with_artifact(connection, first, second, after, PORTION)
        return FlagPortion(f"{first} {second}", ids)

    def decide(self, portion: FlagPortion, now: datetime) -> FlagPortion:
        return portion

    async def apply(self, tx: Tx, portion: FlagPortion, decision: FlagPortion) -> None:
        for instance_id in portion.ids:
            held = await hold_any(tx, instance_id)
            if held is not None:
                await derive_flags(held)
        if len(portion.ids) == PORTION:
            await leases.enqueue(tx, WORK, [f"{portion.about} {portion.ids[-1]}"])


async def derive_flags(held: Held) -> None:
    """Store what is to be said of the instance's versions now, if that is something else than before."""
    flags = await version_gate.flags_of(held.tx.connection, held.row)
    before = {flag["code"] for flag in held.row["flags"]}
    if flags == held.row["flags"]:
        return
    held.change(flags=flags)
    for flag in flags:
        if flag["code"] not in before:
            held.news("instance.flagged", code=flag["code"])
    if before - {flag["code"] for flag in flags}:
        held.news("instance.flag_cleared", codes=sorted(before - {flag["code"] for flag in flags}))
    await refuse_unclaimed(held)
    await held.store()
