"""The proof after a teardown: hosts are inspected, and what is found decides. The one place that knows the receipts room."""

from collections.abc import Sequence

from psycopg.rows import DictRow

from gpuaas_server.catalog.footprints import footprint_of
from gpuaas_server.instances.held import Held
from gpuaas_server.operations.machine import Evidence
from gpuaas_server.receipts import service as receipts
from gpuaas_server.receipts.settling import Judgement


async def proof_start(held: Held, operation: DictRow, members: Sequence[DictRow]) -> bool:
    """Whether there is a host to look at; then the operation waits for what it says.

    Where another member of the instance goes on living, the footprint is there by right: that host is looked at when the
    last of them goes.
    """
    leaving = {member["id"] for member in members}
    shared = {member["allocation_id"] for member in held.living() if member["id"] not in leaving}
    there = [one for one in members if not one["host_gone"] and one["allocation_id"] not in shared]
    if not there:
        return False
    footprint = _footprint(held.row)
    await receipts.receipts_start(held.tx, _teardown(held, operation), _targets(there), footprint)
    return True


def _footprint(instance: DictRow) -> dict[str, list[object]]:
    """Of all versions that may be on the hosts: an upgrade can break off, or forget something of the version before."""
    merged: dict[str, list[object]] = {}
    for version in (instance, instance["attempted"], instance["previous"]):
        for kind, entries in (footprint_of(version["manifest"], instance["inputs"]) if version else {}).items():
            known = merged.setdefault(kind, [])
            known.extend(entry for entry in entries if entry not in known)
    return merged


def evidence_of(judgement: Judgement) -> Evidence:
    verdict = judgement.verdict
    return Evidence(verdict.waiting, [str(one) for one in (*verdict.left, *verdict.failed)], verdict.until)


async def proof_forced(held: Held, operation: DictRow, members: Sequence[DictRow], reason: str) -> None:
    there = [member for member in members if not member["host_gone"]]
    await receipts.receipts_force(held.tx, _teardown(held, operation), _targets(there), reason)


def _targets(members: Sequence[DictRow]) -> list[receipts.TeardownTarget]:
    return [receipts.TeardownTarget(one["id"], one["allocation_id"], one["node_id"]) for one in members]


def _teardown(held: Held, operation: DictRow) -> receipts.Teardown:
    depth = "stopped" if operation["kind"] == "stop" else "gone"
    return receipts.Teardown(operation["id"], held.id, held.row["app_slug"], depth, held.row["project_id"])
