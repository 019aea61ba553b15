"""allocations: request GPUs, watch them, release them."""

from typing import Annotated

import typer

from gpuaas_cli.allocation_views import COLUMNS, GPUS, print_allocation, print_outcome, print_timeline
from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.commands import ssh
from gpuaas_cli.options import DeadlineOption, LimitOption, ProjectOption, WatchOption, YesOption
from gpuaas_cli.output import print_list
from gpuaas_cli.progress import AllocationProgress
from gpuaas_cli.references import allocation_id, project_id, ssh_key_id
from gpuaas_cli.session import Session
from gpuaas_sdk import Allocation, NewAllocation

group = CommandGroup("Allocations: GPUs that a project holds.")
ssh.add_to(group)

AllocationArgument = Annotated[str, typer.Argument(help="Allocation: id or name.")]


@group.verb("create")
def create(
    session: Session,
    sku: Annotated[str, typer.Option("--sku", help="The SKU to allocate; see `gpuaas skus list`.")],
    gpus: Annotated[
        int | None,
        typer.Option("--gpus", min=1, help="GPUs per allocation; required if the SKU offers several counts."),
    ] = None,
    count: Annotated[
        int, typer.Option("--count", min=1, help="How many allocations to create: all of them or none.")
    ] = 1,
    name: Annotated[str | None, typer.Option("--name", help="A name that you can use instead of the id.")] = None,
    ssh_keys: Annotated[
        list[str] | None,
        typer.Option(
            "--ssh-key", help="One of your stored keys (id, name or fingerprint) that may log in; repeat for more."
        ),
    ] = None,
    watch: WatchOption = False,
    deadline: DeadlineOption = 900,
    project: ProjectOption = None,
) -> None:
    """Request GPUs. Returns when they are claimed; with --watch, when they are active or have failed."""
    where = project_id(session, project)
    keys = [ssh_key_id(session.client, key) for key in ssh_keys or ()]
    new = NewAllocation(sku=sku, gpu_count=gpus, count=count, name=name, ssh_key_ids=keys)
    made = list(session.client.allocations.create(where, new))
    if not watch:
        print_list(session, made, COLUMNS)
        return
    _watch(session, where, made, deadline, "active")


@group.verb("list")
def list_(
    session: Session,
    state: Annotated[str | None, typer.Option("--state", help="Only those in this state.")] = None,
    limit: LimitOption = 100,
    project: ProjectOption = None,
    platform: Annotated[
        bool, typer.Option("--platform", help="Show allocations of all projects; for operators.")
    ] = False,
) -> None:
    """List allocations, newest first."""
    where = None if platform else project_id(session, project)
    print_list(session, session.client.allocations.list(where, state=state).first(limit), COLUMNS)


@group.verb("show")
def show(session: Session, allocation: AllocationArgument, project: ProjectOption = None) -> None:
    """Show one allocation and its timeline."""
    where, found = _find(session, project, allocation)
    print_allocation(session, session.client.allocations.show(where, found))
    if not session.as_json:
        session.out.print()
        print_timeline(session, session.client.allocations.timeline(where, found))


@group.verb("timeline")
def timeline(session: Session, allocation: AllocationArgument, project: ProjectOption = None) -> None:
    """Show every state and every phase on the host, with times and failures."""
    where, found = _find(session, project, allocation)
    print_timeline(session, session.client.allocations.timeline(where, found))


@group.verb("topology")
def topology(session: Session, allocation: AllocationArgument, project: ProjectOption = None) -> None:
    """Show the GPUs of the host, their links, and which of them belong to the allocation."""
    where, found = _find(session, project, allocation)
    shown = session.client.allocations.topology(where, found)
    print_list(session, shown.gpus, GPUS)


@group.verb("release")
def release(
    session: Session,
    allocation: AllocationArgument,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, for the audit trail.")] = None,
    watch: WatchOption = False,
    deadline: DeadlineOption = 1200,
    yes: YesOption = False,
    project: ProjectOption = None,
) -> None:
    """Release the GPUs. Access ends and everything on them is wiped."""
    session.confirm(f"Release {allocation}? Everything on it is wiped.", yes)
    where, found = _find(session, project, allocation)
    released = session.client.allocations.release(where, found, reason=reason)
    _after_release(session, where, released, watch, deadline)


@group.verb("replace")
def replace(
    session: Session,
    allocation: AllocationArgument,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, for the audit trail.")] = None,
    watch: WatchOption = False,
    deadline: DeadlineOption = 900,
    yes: YesOption = False,
    project: ProjectOption = None,
) -> None:
    """Claim equal GPUs on another host and release this allocation, in one step. Use it to leave a lost host."""
    session.confirm(f"Replace {allocation}? Everything on it is wiped.", yes)
    where, found = _find(session, project, allocation)
    made = session.client.allocations.replace(where, found, reason=reason)
    if watch:
        _watch(session, where, [made], deadline, "active")
    else:
        print_allocation(session, made)


@group.verb("report-broken")
def report_broken(
    session: Session,
    allocation: AllocationArgument,
    reason: Annotated[str, typer.Option("--reason", help="What does not work; operators read it.")],
    project: ProjectOption = None,
) -> None:
    """Report the host as broken. After the release, operators inspect it before it is allocated again."""
    where, found = _find(session, project, allocation)
    report = session.client.host_reports.create(where, found, reason)
    session.say(f"{report.id}: reported. Release or replace {allocation} when you are done with it.")


@group.verb("retry-release")
def retry_release(
    session: Session,
    allocation: AllocationArgument,
    watch: WatchOption = False,
    deadline: DeadlineOption = 1200,
    project: ProjectOption = None,
) -> None:
    """Try a failed release again."""
    where, found = _find(session, project, allocation)
    _after_release(session, where, session.client.allocations.retry_release(where, found), watch, deadline)


@group.verb("force-cleanup")
def force_cleanup(
    session: Session,
    allocation: AllocationArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why it must be forced.")],
    evidence: Annotated[str, typer.Option("--evidence", help="What was checked on the host, how, and by whom.")],
    yes: YesOption = False,
    project: ProjectOption = None,
) -> None:
    """Return GPUs to the pool although their wipe is not proven. The record stays "not verified" permanently."""
    session.confirm(f"Force the clean-up of {allocation}? Its wipe is NOT proven.", yes)
    where, found = _find(session, project, allocation)
    forced = session.client.allocations.force_cleanup(where, found, reason, evidence)
    print_allocation(session, forced)


def _find(session: Session, project: str | None, allocation: str) -> tuple[str, str]:
    where = project_id(session, project)
    return where, allocation_id(session.client, where, allocation)


def _after_release(session: Session, where: str, allocation: Allocation, watch: bool, deadline: float) -> None:
    if watch:
        _watch(session, where, [allocation], deadline, "released")
    else:
        print_allocation(session, allocation)


def _watch(session: Session, where: str, allocations: list[Allocation], deadline: float, wanted: str) -> None:
    since = allocations[0].state_since if wanted == "released" else None
    ended = AllocationProgress(session, where, since).follow([one.id for one in allocations], deadline)
    print_outcome(session, ended, wanted)
