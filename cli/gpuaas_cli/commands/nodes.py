"""nodes: hosts of the platform, their enrolment and maintenance."""

import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.commands import node_labels, node_maintenance, node_reports
from gpuaas_cli.failures import ExitCode
from gpuaas_cli.options import DeadlineOption, LimitOption, ReasonOption, WatchOption, YesOption, expiry
from gpuaas_cli.output import Column, age, cell, print_card, print_list, short_moment
from gpuaas_cli.progress import Progress
from gpuaas_cli.references import node_id
from gpuaas_cli.session import Session
from gpuaas_sdk import EnrolmentToken, Node, Task

group = CommandGroup("Nodes: hosts of the platform, their enrolment and maintenance.")
tokens = CommandGroup("Enrolment tokens.")
group.add_typer(tokens, name="enrolment-tokens")
group.add_typer(node_labels.group, name="labels")
group.add_typer(node_maintenance.group, name="maintenance")
group.add_typer(node_reports.group, name="reports")

ANYWHERE = ("0.0.0.0/0", "::/0")
NodeArgument = Annotated[str, typer.Argument(help="Node: id, name or hostname.")]


def _takes(node: Node) -> str:
    if node.draining:
        return "drained" if node.drained else "draining"
    if node.drain_at is not None:
        return "drain planned"
    if node.cordoned:
        return "cordoned"
    return "yes" if node.schedulable else "no"


COLUMNS: list[Column[Node]] = [
    Column("NAME", lambda one: one.name),
    Column("STATUS", lambda one: one.status, whole=True),
    Column("TAKES", _takes, whole=True),
    Column("GPUS", lambda one: one.slots.total, right=True, whole=True),
    Column("FREE", lambda one: None if one.status == "retired" else one.slots.available, right=True, whole=True),
    Column("USED", lambda one: one.slots.claimed, right=True, whole=True),
    Column("SEEN", lambda one: age(one.last_seen_at), right=True, whole=True),
    Column("ID", lambda one: one.id, whole=True),
]
TASK_COLUMNS: list[Column[Task]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("KIND", lambda one: one.kind, whole=True),
    Column("STATUS", lambda one: one.status, whole=True),
    Column("FOR", lambda one: one.resource_id),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
    Column("FAILURE", lambda one: one.failure.get("code") if one.failure else None),
]
TOKEN_COLUMNS: list[Column[EnrolmentToken]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("NOTE", lambda one: one.note),
    Column("USES", lambda one: f"{one.uses}/{one.max_uses}", right=True, whole=True),
    Column("EXPIRES", lambda one: one.expires_at, whole=True),
    Column("REVOKED", lambda one: one.revoked_at is not None, whole=True),
]


@group.verb("list")
def list_(
    session: Session,
    status: Annotated[
        str | None, typer.Option(help="Only nodes with this status: enrolled, ready, lost or retired.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Include retired nodes.")] = False,
) -> None:
    """List the nodes; --all includes retired ones."""
    found = session.client.nodes.list(status=status)
    shown = found if everything or status else (node for node in found if node.status != "retired")
    print_list(session, shown, COLUMNS)


@group.verb("show")
def show(session: Session, node: NodeArgument) -> None:
    """Show one node."""
    _print(session, session.client.nodes.show(node_id(session.client, node)))


@group.verb("enrol")
def enrol(
    session: Session,
    note: Annotated[str | None, typer.Option("--note", help="What it is for.")] = None,
    minutes: Annotated[int, typer.Option("--minutes", min=1, help="How long the bundle is valid.")] = 60,
    uses: Annotated[int, typer.Option("--uses", min=1, help="How many hosts may enrol with the bundle.")] = 1,
) -> None:
    """Create an enrolment bundle for a new host's agent. It is shown only once."""
    token = session.client.enrolment_tokens.create(note=note, expires_in_seconds=minutes * 60, max_uses=uses)
    if session.as_json:
        print_card(session, token, [])
        return
    session.out.print(token.bundle, markup=False, soft_wrap=True)
    session.err.print(
        f"{token.id}: for {token.max_uses} host(s), until {cell(token.expires_at)}. It is shown only once."
    )
    session.err.print(
        "On the new host: write it to /etc/gpuaas/enrolment (mode 0600), then start gpuaas-agent.",
        style="dim",
    )


@group.verb("cordon")
def cordon(session: Session, node: NodeArgument, reason: ReasonOption) -> None:
    """Stop new allocations on a node."""
    _print(session, session.client.nodes.cordon(node_id(session.client, node), reason))


@group.verb("approve-key")
def approve_key(session: Session, node: NodeArgument, reason: ReasonOption) -> None:
    """Accept a node whose key expired while its agent was offline. The agent then renews the key itself."""
    _print(session, session.client.nodes.key_approve(node_id(session.client, node), reason))


@group.verb("uncordon")
def uncordon(session: Session, node: NodeArgument) -> None:
    """Allow new allocations on a node again."""
    _print(session, session.client.nodes.uncordon(node_id(session.client, node)))


@group.verb("drain")
def drain(
    session: Session,
    node: NodeArgument,
    reason: ReasonOption,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            help="When the release begins: 90m, 12h, 2d from now, or 2030-01-31T10:00Z. Default: after the platform's notice.",
        ),
    ] = None,
    now: Annotated[bool, typer.Option("--now", help="Begin now, without notice.")] = False,
    watch: WatchOption = False,
    deadline: DeadlineOption = 1800,
    yes: YesOption = False,
) -> None:
    """Cordon a node, notify its projects, and release all its allocations after the notice.

    A host that is lost or has no allocations is drained at once. `nodes uncordon` cancels.
    """
    if at and now:
        raise typer.BadParameter("--at and --now contradict each other")
    session.confirm(f"Drain {node}? All its allocations end.", yes)
    starts_at = datetime.now(UTC) if now else expiry(at)
    drained = session.client.nodes.drain(node_id(session.client, node), reason, starts_at=starts_at)
    if watch:
        drained = _watch_drain(session, drained, deadline)
    _print(session, drained)
    if watch and not drained.draining:
        raise typer.Exit(ExitCode.FAILED)


@group.verb("retire")
def retire(session: Session, node: NodeArgument, reason: ReasonOption, yes: YesOption = False) -> None:
    """Retire a drained node permanently. The platform then refuses its agent."""
    session.confirm(f"Retire {node} permanently?", yes)
    _print(session, session.client.nodes.retire(node_id(session.client, node), reason))


@group.verb("rename")
def rename(session: Session, node: NodeArgument, name: Annotated[str, typer.Argument()]) -> None:
    """Rename a node."""
    _print(session, session.client.nodes.update(node_id(session.client, node), name=name))


@group.verb("erase-drives")
def erase_drives(
    session: Session,
    node: NodeArgument,
    erase: Annotated[
        bool, typer.Option("--on/--off", help="If off, the wipe proof says that drives were not examined.")
    ],
) -> None:
    """Set whether a wipe erases the drives of a node's slots and reads them back."""
    _print(session, session.client.nodes.update(node_id(session.client, node), erase_drives=erase))


@group.verb("discover")
def discover(session: Session, node: NodeArgument, watch: WatchOption = False) -> None:
    """Discover the hardware of a node again."""
    client = session.client
    task = client.nodes.discover(node_id(session.client, node))
    if watch:
        with Progress(session) as progress:
            progress.update(f"{task.id}: waiting for the host")
            client.wait_for(lambda: client.nodes.task(task.id).status != "pending", 120, "the discovery")
        task = client.nodes.task(task.id)
    _print_task(session, task)


@group.verb("tasks")
def tasks(session: Session, node: NodeArgument, limit: LimitOption = 30) -> None:
    """List the newest tasks of a node."""
    found = session.client.nodes.tasks(node_id(session.client, node)).first(limit)
    print_list(session, found, TASK_COLUMNS)


@group.verb("task")
def task_show(session: Session, task: Annotated[str, typer.Argument(help="Task id (tsk_…).")]) -> None:
    """Show one task with its phases."""
    _print_task(session, session.client.nodes.task(task))


@tokens.verb("list")
def token_list(session: Session) -> None:
    """List the enrolment tokens."""
    print_list(session, session.client.enrolment_tokens.list(), TOKEN_COLUMNS)


@tokens.verb("revoke")
def token_revoke(
    session: Session, token: Annotated[str, typer.Argument(help="Token id (ent_…).")], yes: YesOption = False
) -> None:
    """Revoke an enrolment token."""
    session.confirm(f"Revoke {token}?", yes)
    session.client.enrolment_tokens.revoke(token)
    session.say(f"{token} is revoked.")


def _watch_drain(session: Session, node: Node, deadline: float) -> Node:
    """Watch until the node is drained, or the drain is cancelled. The deadline counts from its beginning."""
    started = time.monotonic()
    notice = (node.drain_at - datetime.now(UTC)).total_seconds() if node.drain_at else 0
    with Progress(session) as progress:

        def ended() -> Node | None:
            now = session.client.nodes.show(node.id)
            live = now.slots.claimed + now.slots.cleaning
            if now.drain_at is not None:
                progress.update(f"{now.name}: the drain begins at {short_moment(now.drain_at)}")
                return None
            progress.update(f"{now.name}: {live} GPU(s) still in use or being wiped")
            return now if live == 0 or not now.draining else None

        found = session.client.wait_for(ended, deadline + max(0, notice), f"The end of the drain of {node.name}")
        outcome = "is drained" if found.draining else "is not drained: the drain was cancelled"
        progress.finish(f"{found.name} {outcome}", time.monotonic() - started)
    return found


@group.verb("set-address")
def set_address(
    session: Session, node: NodeArgument, address: Annotated[str, typer.Argument(help="IP address or name.")]
) -> None:
    """Set the address of a node after a move. While a tenant uses the node, its agent cannot change the address."""
    _print(session, session.client.nodes.update(node_id(session.client, node), address=address))


@group.verb("set-source")
def set_source(
    session: Session,
    node: NodeArgument,
    networks: Annotated[list[str], typer.Argument(help="Addresses or networks, or `any`.")],
) -> None:
    """Set the addresses from which a node's agent may connect. Its key is refused from all others."""
    wanted = [*(one for one in networks if one != "any"), *(ANYWHERE if "any" in networks else ())]
    _print(session, session.client.nodes.update(node_id(session.client, node), source_networks=wanted))


def _print(session: Session, node: Node) -> None:
    slots = {name: count for name, count in vars(node.slots).items() if count}
    fields = [
        ("Name", node.name),
        ("Status", node.status),
        ("Takes work", _takes(node)),
        ("Drain begins", node.drain_at),
        ("Maintenance", node.maintenance.reason if node.maintenance else None),
        ("Hostname", node.hostname),
        ("Address", node.address),
        ("Slice addresses", node.slice_addresses),
        ("Speaks from", node.source_networks),
        ("Slots", slots),
        ("Labels", dict(node.labels)),
        ("Agent", node.agent_version),
        ("Wipe", _wipe(node)),
        ("Last seen", node.last_seen_at),
        ("Warnings", _warnings(node)),
        ("You may", node.allowed_actions),
        ("Id", node.id),
    ]
    print_card(session, node, fields)


def _wipe(node: Node) -> str:
    """Describe what a wipe of the whole node can prove, and what it leaves out."""
    parts = [f"up to {node.wipe_grades[-1]}"]
    if not node.erase_drives:
        parts.append("drives are not erased")
    if node.claim_differs:
        parts.append("its agent reports a configuration or program that differs from the record")
    return "; ".join(parts)


def _warnings(node: Node) -> str:
    warnings = (node.inventory or {}).get("warnings")
    found = warnings if isinstance(warnings, list) else []
    return "\n".join(str(one.get("message", one)) if isinstance(one, dict) else str(one) for one in found)


def _print_task(session: Session, task: Task) -> None:
    phases = [
        f"{phase.get('name')}: {phase.get('status')} {phase.get('detail') or ''}".rstrip() for phase in task.phases
    ]
    failure = f"{task.failure.get('message')} ({task.failure.get('code')})" if task.failure else None
    fields = [
        ("Id", task.id),
        ("Kind", task.kind),
        ("Status", task.status),
        ("For", task.resource_id),
        ("Node", task.node_id),
        ("Phases", "\n".join(phases)),
        ("Failure", failure),
        ("Deadline", task.deadline),
        ("Created", task.created_at),
        ("Reported", task.reported_at),
        ("Correlation id", task.correlation_id),
    ]
    print_card(session, task, fields)
