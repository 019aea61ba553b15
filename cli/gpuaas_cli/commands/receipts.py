"""receipts: what agents found on hosts after an app was stopped or removed."""

from typing import Annotated

import typer
from rich.table import Table

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.member_names import MemberNames
from gpuaas_cli.options import LimitOption, ProjectOption
from gpuaas_cli.output import Column, cell, print_card, print_list, short_moment
from gpuaas_cli.references import allocation_id, project_id
from gpuaas_cli.session import Session
from gpuaas_sdk import ReceiptCheck, ReceiptLine

group = CommandGroup("Teardown receipts: the proof that an app left nothing behind.")
_SHOWN = 5


def receipt_columns(names: MemberNames) -> list[Column[ReceiptLine]]:
    """Return the columns of a list of receipts, with the names of members."""
    return [
        Column("ID", lambda one: one.id, whole=True),
        Column("STATUS", lambda one: one.status, whole=True),
        Column("MEMBER", lambda one: names.of(one.project_id, one.instance_id, one.member_id), whole=True),
        # A check that did not run has no count, not a zero.
        Column("LEFT", lambda one: one.left or (0 if one.status == "clean" else None), right=True, whole=True),
        Column("TIME", lambda one: short_moment(one.settled_at or one.created_at), whole=True),
    ]


@group.verb("list")
def list_(
    session: Session,
    instance: Annotated[str | None, typer.Option("--instance", help="Only of this instance (id).")] = None,
    operation: Annotated[str | None, typer.Option("--operation", help="Only of this operation (id).")] = None,
    allocation: Annotated[str | None, typer.Option("--allocation", help="Only of this allocation: id or name.")] = None,
    status: Annotated[
        str | None,
        typer.Option("--status", help="Only receipts with this status: pending, clean, left, unseen or not_verified."),
    ] = None,
    limit: LimitOption = 50,
    project: ProjectOption = None,
) -> None:
    """List receipts, newest first, including those of decommissioned instances."""
    where = project_id(session, project)
    place = allocation_id(session.client, where, allocation) if allocation else None
    found = session.client.receipts.list(
        where, instance_id=instance, operation_id=operation, allocation_id=place, status=status
    )
    print_list(session, found.first(limit), receipt_columns(MemberNames(session)))


@group.verb("show")
def show(
    session: Session,
    receipt: Annotated[str, typer.Argument(help="Receipt (id).")],
    project: ProjectOption = None,
) -> None:
    """Show each check with its verdict and evidence."""
    found = session.client.receipts.show(project_id(session, project), receipt)
    if session.as_json:
        print_card(session, found, [])
        return
    why, forced = found.failure, found.forced
    print_card(
        session,
        found,
        [
            ("Id", found.id),
            ("Status", found.status),
            ("Verified", found.verified),
            ("Asked", "nothing runs" if found.depth == "stopped" else "nothing is left"),
            ("Failure", f"{why.message} ({why.code})" if why else None),
            ("Next", why.next_step if why and not forced else None),
            ("Forced", f"by {forced.by}: {forced.reason}" if forced else None),
            ("Instance", found.instance_id),
            ("Operation", found.operation_id),
            ("Member", MemberNames(session).of(found.project_id, found.instance_id, found.member_id)),
            ("Allocation", found.allocation_id),
            ("Node", found.node_id),
            ("Baseline", found.baseline_sha256),
            ("Settled", found.settled_at),
        ],
    )
    if found.checks:
        _print_checks(session, found.checks)


def _print_checks(session: Session, checks: list[ReceiptCheck]) -> None:
    table = Table("CHECK", "VERDICT", "EVIDENCE", box=None, pad_edge=False, header_style="bold")
    for check in checks:
        table.add_row(check.name, cell(check.verdict), cell(evidence_of(check)))
    session.out.print()
    session.out.print(table)


def evidence_of(check: ReceiptCheck) -> str:
    """Return the most important evidence: leftovers, else why the check failed, else what it examined."""
    if check.problem:
        return check.problem
    left = [f"{one.item} [{one.why}]" for one in check.found if not one.known]
    if check.left:
        more = check.left - len(left[:_SHOWN])
        return "; ".join([*left[:_SHOWN], *([f"and {more} more"] if more else [])])
    asked = f"{len(check.entries)} asked for, " if check.entries else ""
    others = f", {len(check.not_in_footprint)} new and in no footprint" if check.not_in_footprint else ""
    return f"{asked}{check.examined} looked at{others}"
