"""The cluster goes: a worker drained and removed, then all of it, with what the hosts' agents saw as a receipt."""

from rich.table import Table

from gpuaas_lab.demo.cast import Cast
from gpuaas_lab.demo.scenes.cluster import Cluster
from gpuaas_lab.errors import LabError
from gpuaas_sdk import Receipt


def shrunk(cast: Cast, cluster: Cluster) -> None:
    with cast.report.step("Drain the second worker, and remove it") as step:
        worker = next(one for one in cluster.workers() if one.allocation_id == cluster.rooms.more.id)
        cluster.change(cast, "drain", worker)
        removed = cluster.change(cast, "remove", worker)
        receipts = cast.mia.receipts.list(cast.project_id, allocation_id=cluster.rooms.more.id)
        _require_clean([cast.mia.receipts.show(cast.project_id, one.id) for one in receipts], 1)
        rotation = cast.mia.operations.rotation_after(cast.project_id, removed)
        if rotation is None:
            raise LabError("who has left still knows the key of the cluster")
        cluster.follower.succeeded(rotation)
        step.detail = f"its host is clean, the key that it knew opens nothing; {len(cluster.workers())} worker is left"


def gone(cast: Cast, cluster: Cluster) -> None:
    with cast.report.step("Decommission it, and print the receipt") as step:
        started = cast.mia.instances.decommission(cast.project_id, cluster.instance_id)
        ended = cluster.follower.succeeded(started.operation)
        lines = cast.mia.receipts.list(cast.project_id, operation_id=ended.id)
        receipts = [cast.mia.receipts.show(cast.project_id, one.id) for one in lines]
        _require_clean(receipts, 1)
        for receipt in receipts[:1]:  # the others are of the same host, and of the same look at it
            cast.report.show_below(_as_table(receipt))
        step.detail = "seen by the host's agent, not by the app: " + ", ".join(sorted({one.status for one in receipts}))


def _require_clean(receipts: list[Receipt], at_least: int) -> None:
    if len(receipts) < at_least:
        raise LabError("there is no receipt")
    for one in receipts:
        if one.status != "clean" or not one.verified or one.depth != "gone":
            why = one.failure.message if one.failure else f"{one.left} things are left"
            raise LabError(f"the receipt {one.id} is {one.status}: {why}")


def _as_table(receipt: Receipt) -> Table:
    table = Table(title=f"Receipt {receipt.id}: {receipt.status}", title_justify="left")
    for name in ("check", "verdict", "examined", "left", "looked for"):
        table.add_column(name, justify="right" if name in ("examined", "left") else "left")
    for check in receipt.checks:
        wanted = ", ".join(check.looked_for)
        table.add_row(check.name, check.verdict, str(check.examined), str(check.left), _cut(wanted))
    return table


def _cut(text: str, length: int = 60) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
