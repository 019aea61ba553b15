"""Prints allocations and their timelines."""

from collections.abc import Sequence
from datetime import UTC, datetime

import typer
from rich.table import Table
from rich.text import Text

from gpuaas_cli.failures import ExitCode
from gpuaas_cli.output import Column, age, cell, print_card, print_json, print_list, short_moment
from gpuaas_cli.progress import label_of, mark_of, style_of_mark
from gpuaas_cli.session import Session
from gpuaas_sdk import Allocation, AllocationHealthReason, HostGpu, Timeline, TimelineEntry


def _ssh(allocation: Allocation) -> str | None:
    way_in = allocation.ssh
    return f"{way_in.user}@{way_in.address}:{way_in.port}" if way_in else None


COLUMNS: list[Column[Allocation]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("NAME", lambda one: one.name),
    Column("STATE", lambda one: one.state, whole=True),
    Column("HEALTH", lambda one: one.health, whole=True),
    Column("SKU", lambda one: one.sku_name),
    Column("GPUS", lambda one: one.gpu_count, right=True, whole=True),
    Column("SSH", _ssh),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
]
GPUS: list[Column[HostGpu]] = [
    Column("#", lambda one: one.slot_index, right=True, whole=True),
    Column("HELD", lambda one: "yes" if one.claimed else "no", whole=True),
    Column("GPU", lambda one: one.gpu_model),
    Column("PCI", lambda one: one.pci_address, whole=True),
    Column("NUMA", lambda one: one.numa_node, right=True, whole=True),
    Column("LINK", lambda one: one.nvlink_group, right=True, whole=True),
]


def print_allocation(session: Session, allocation: Allocation) -> None:
    failure = (
        None if allocation.state == "released" else allocation.failure
    )  # a released allocation has no current host
    fields = [
        ("Id", allocation.id),
        ("Name", allocation.name),
        ("State", allocation.state),
        ("Since", allocation.state_since),
        ("Health", allocation.health),
        ("Because", _reasons(allocation)),
        ("Host task", allocation.phase),
        ("Deadline", allocation.deadline_at),
        (
            "SKU",
            f"{allocation.sku_name} ({allocation.shape}, {allocation.gpu_count} × {allocation.gpu_model})",
        ),
        ("Node", allocation.node_id),
        ("SSH", _ssh(allocation)),
        ("Failure", f"{failure.message} ({failure.code})" if failure else None),
        ("Next", failure.next_step if failure else None),
        ("Wipe", _wipe(allocation)),
        ("You may", allocation.allowed_actions),
        ("Created", allocation.created_at),
        ("Correlation id", allocation.correlation_id),
    ]
    print_card(session, allocation, fields)


def print_timeline(session: Session, timeline: Timeline) -> None:
    if session.as_json:
        print_json(session, timeline.raw)
        return
    table = Table("", "WHAT", "STATUS", "AT", "TOOK", "DETAIL", box=None, pad_edge=False, header_style="bold")
    table.columns[4].justify = "right"
    verdict_at, verdict = _verdict(timeline)
    for number, entry in enumerate(timeline.items):
        mark = mark_of(entry)
        took = "" if entry.seconds is None else f"{entry.seconds:.1f}s"
        table.add_row(
            Text(mark, style=style_of_mark(mark)),
            label_of(entry),
            cell(entry.status),
            short_moment(entry.at),
            took,
            verdict if number == verdict_at else _detail(entry),
        )
    session.out.print(table)
    if timeline.forced:
        session.say("The clean-up was forced. The wipe is not verified.")


def print_outcome(session: Session, allocations: Sequence[Allocation], wanted: str) -> None:
    """Print how a watch ended; it succeeds only if every allocation reached the expected state."""
    if session.as_json or len(allocations) > 1:
        print_list(session, allocations, COLUMNS)
    else:
        print_allocation(session, allocations[0])
    if any(one.state != wanted for one in allocations):
        raise typer.Exit(ExitCode.FAILED)


def _reasons(allocation: Allocation) -> str:
    """Return a line for each reason, followed by its next step; the allocation's own failure is printed elsewhere."""
    told = allocation.failure.code if allocation.failure else None
    lines = []
    for reason in allocation.health_reasons:
        if reason.code != told:
            lines += [f"{reason.message} ({reason.code}{_when(reason)})", f"  {reason.next_step}"]
    return "\n".join(lines)


def _when(reason: AllocationHealthReason) -> str:
    if reason.since is None:
        return ""
    if reason.until is None:
        word = "from" if reason.since > datetime.now(UTC) else "since"
        return f", {word} {short_moment(reason.since)}"
    return f", {short_moment(reason.since)} – {short_moment(reason.until)}"


def _wipe(allocation: Allocation) -> str | None:
    required = f"{allocation.wipe_grade_required} required" if allocation.wipe_grade_required else ""
    if allocation.wipe_verified is None:
        return required or None
    parts = [
        f"verified, {allocation.wipe_grade or 'inspected'}" if allocation.wipe_verified else "NOT verified",
        required,
    ]
    if allocation.wipe_not_examined:
        parts.append(f"not examined: {', '.join(allocation.wipe_not_examined)}")
    return "; ".join(part for part in parts if part)


def _verdict(timeline: Timeline) -> tuple[int, Text]:
    """Return the verdict of the last verification and its place in the timeline. A forced end does not change it."""
    proofs = [n for n, entry in enumerate(timeline.items) if (entry.name, entry.status) == ("verify_wipe", "succeeded")]
    if not proofs or timeline.wipe_evidence is None:
        return -1, Text()
    following = [entry.name for entry in timeline.items[proofs[-1] :] if entry.kind == "state"]
    proven = timeline.wipe_evidence.get("clean") is True and following[:1] != ["release_failed"]
    if not proven:
        return proofs[-1], Text("wipe NOT verified", style="bold red")
    verdict = timeline.wipe_evidence.get("verdict")
    grade = f" ({verdict.get('grade')})" if isinstance(verdict, dict) else ""
    return proofs[-1], Text(f"wipe verified{grade}", style="green")


def _detail(entry: TimelineEntry) -> str:
    if entry.failure is not None:
        return f"{entry.failure.message} ({entry.failure.code})"
    by = f"by {entry.actor}" if entry.actor and entry.kind == "state" else ""
    return " ".join(part for part in (entry.detail, by) if part)
