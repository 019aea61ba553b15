"""Removes a worker, then the whole cluster, and prints the receipt of what the hosts' agents found afterwards."""

from rich.table import Table

from gpuaas_lab.demo.context import DemoContext
from gpuaas_lab.demo.steps.cluster import Cluster
from gpuaas_lab.errors import LabError
from gpuaas_sdk import Receipt


def remove_worker(context: DemoContext, cluster: Cluster) -> None:
    with context.report.step("Drain and remove the second worker") as step:
        worker = next(one for one in cluster.workers() if one.allocation_id == cluster.allocations.more.id)
        cluster.change(context, "drain", worker)
        removed = cluster.change(context, "remove", worker)
        receipts = context.customer.receipts.list(context.project_id, allocation_id=cluster.allocations.more.id)
        require_clean([context.customer.receipts.show(context.project_id, one.id) for one in receipts], 1)
        rotation = context.customer.operations.rotation_after(context.project_id, removed)
        if rotation is None:
            raise LabError("the cluster's key was not rotated after a member left")
        cluster.follower.wait_for_success(rotation)
        step.detail = f"its host is clean, the cluster's key was rotated; {len(cluster.workers())} worker is left"


def decommission(context: DemoContext, cluster: Cluster) -> None:
    with context.report.step("Decommission the cluster and print the receipt") as step:
        started = context.customer.instances.decommission(context.project_id, cluster.instance_id)
        ended = cluster.follower.wait_for_success(started.operation)
        lines = context.customer.receipts.list(context.project_id, operation_id=ended.id)
        receipts = [context.customer.receipts.show(context.project_id, one.id) for one in lines]
        require_clean(receipts, 1)
        for receipt in receipts[:1]:  # the other receipts are of the same inspection of the same host
            context.report.show_below(_as_table(receipt))
        step.detail = "verified by the host's agent, not by the app: " + ", ".join(
            sorted({one.status for one in receipts})
        )


def require_clean(receipts: list[Receipt], at_least: int) -> None:
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
        wanted = ", ".join(check.entries)
        table.add_row(check.name, check.verdict, str(check.examined), str(check.left), _cut(wanted))
    return table


def _cut(text: str, length: int = 60) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
