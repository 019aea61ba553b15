"""Prints instances, their members and their timelines."""

import json
from collections.abc import Callable, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from gpuaas_cli.member_names import MemberNames
from gpuaas_cli.output import Column, age, cell, moment, print_card, print_json, print_list, style_of
from gpuaas_cli.session import Session
from gpuaas_sdk import (
    HealthReason,
    Instance,
    InstanceMember,
    InstanceSummary,
    InstanceVersion,
    MemberProbe,
    ServedProjects,
    TimelineEvent,
)

NameOf = Callable[[str], str]  # the name of a member by its id


def _status(instance: InstanceSummary) -> Text:
    """Style the status: `running` is the goal of an instance, unlike elsewhere in the platform, where it means in progress."""
    if instance.decommissioned_at is not None:
        return Text("decommissioned", style="dim")
    return Text(instance.status, style="green" if instance.status == "running" else style_of(instance.status))


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {status}" for status, count in counts.items())


INSTANCES: list[Column[InstanceSummary]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("NAME", lambda one: one.name),
    Column("APP", lambda one: f"{one.app_slug} {one.version}"),
    Column("STATUS", _status, whole=True),
    Column("HEALTH", lambda one: one.health, whole=True),
    Column("MEMBERS", lambda one: _counts(one.member_counts)),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
]


def member_columns(allocation_names: Mapping[str, str]) -> list[Column[InstanceMember]]:
    """Return the columns of a member list, with names instead of ids of allocations where they have one."""
    return [
        Column("MEMBER", lambda one: one.name, whole=True),
        Column("STATUS", lambda one: one.status, whole=True),
        Column("ALLOCATION", lambda one: allocation_names.get(one.allocation_id, one.allocation_id)),
        Column("PROBLEM", _problem),
        Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
        Column("ID", lambda one: one.id, whole=True),
    ]


def _problem(member: InstanceMember) -> str | None:
    """Return the member's own failure, or the problem of its host."""
    if member.failure is not None:
        return member.failure.code
    return member.health_reasons[0].code if member.health_reasons else None


def print_instance(
    session: Session,
    instance: Instance,
    members: Sequence[InstanceMember] = (),
    allocation_names: Mapping[str, str] | None = None,
) -> None:
    if session.as_json:
        print_card(session, instance, [])
        return
    why, names = instance.failure, _names_of(MemberNames(session), instance)
    fields = [
        ("Id", instance.id),
        ("Name", instance.name),
        ("App", f"{instance.app_slug} {instance.version}, runtime {_runtime_version(instance)}"),
        ("Status", _status(instance)),
        ("Since", instance.status_since),
        ("Health", instance.health),
        ("Because", _lines(instance.health_reasons, names)),
        ("Warnings", _lines(instance.flags, names)),
        ("Reconcile policy", instance.reconcile_policy),
        ("Drift", _drift(instance, names)),
        ("Failure", f"{why.message} ({why.code})" if why else None),
        ("Next", why.next_step if why else None),
        ("Operation", instance.operation_id),
        ("Last operation", None if instance.operation_id else instance.last_operation_id),
        ("Members", _counts(instance.member_counts)),
        ("Capacity shape", instance.bound_capacity_shape),
        ("Serves", [one.slug for one in instance.projects] if len(instance.projects) > 1 else None),
        ("Inputs", _document(instance.inputs)),
        ("Form", instance.mode and f"{instance.mode.name}: {instance.mode.meaning}"),
        ("Not in this mode", _closed(instance)),
        ("Runtime profile", _document(instance.runtime_profile)),
        ("Component profiles", _document(instance.component_profiles)),
        ("Runtime", _document(instance.runtime)),
        ("Access", _document(instance.access_bundle)),
        ("Rolls back to", _version(instance.previous_version)),
        ("Unfinished", _version(instance.attempted_version)),
        ("You may", [_command(action) for action in instance.allowed_actions]),
        ("Created", instance.created_at),
        ("Decommissioned", instance.decommissioned_at),
        ("Correlation id", instance.correlation_id),
    ]
    print_card(session, instance, fields)
    if members:
        session.out.print()
        print_list(session, members, member_columns(allocation_names or {}))


def _probe_line(probe: MemberProbe) -> str:
    answer = f": {probe.answer}" if probe.answer else ""
    return f"{probe.key} ({', '.join(probe.purpose)}) {probe.status}{answer}"


def print_member(session: Session, member: InstanceMember) -> None:
    why = member.failure
    fields = [
        ("Id", member.id),
        ("Member", member.name),
        ("Status", member.status),
        ("Since", member.status_since),
        ("Health", member.health),
        ("Because", "\n".join(f"{one.message} ({one.code}) {one.next_step}" for one in member.health_reasons)),
        ("Failure", f"{why.message} ({why.code})" if why else None),
        ("Next", why.next_step if why else None),
        ("Probes", "\n".join(_probe_line(one) for one in member.probes)),
        ("Instance", member.instance_id),
        ("Allocation", member.allocation_id),
        ("Node", member.node_id),
        ("Operation", member.operation_id),
        ("Last operation", None if member.operation_id else member.last_operation_id),
        ("Teardown", None if member.verified is None else "verified" if member.verified else "NOT verified"),
        ("Detail", _document(member.adapter_detail)),
        ("You may", member.allowed_actions),
        ("Created", member.created_at),
        ("Ready", member.ready_at),
        ("Removed", member.removed_at),
        ("Correlation id", member.correlation_id),
    ]
    print_card(session, member, fields)


def print_projects(session: Session, served: ServedProjects) -> None:
    if session.as_json:
        print_json(session, served.raw)
        return
    table = Table("PROJECT", "ID", "SINCE", box=None, pad_edge=False, header_style="bold")
    for one in served.items:
        table.add_row(f"{one.slug} (its own)" if one.home else one.slug, one.project_id, moment(one.since))
    session.out.print(table)


def print_entry(session: Session, entry: TimelineEvent) -> None:
    data = cell({name: value for name, value in entry.data.items() if value is not None}).plain[:200]
    line = Text.assemble((moment(entry.at), "dim"), " ", (entry.type, "bold"), " ", entry.subject, " ", data)
    session.out.print(line, soft_wrap=True)


def print_entries(session: Session, entries: Sequence[TimelineEvent], raw: object) -> None:
    if session.as_json:
        print_json(session, raw)
        return
    table = Table("TIME", "WHAT", "ABOUT", "DETAIL", box=None, pad_edge=False, header_style="bold")
    table.columns[2].min_width = 30  # a truncated id cannot be used
    for entry in entries:
        data = {name: value for name, value in entry.data.items() if value is not None}
        table.add_row(moment(entry.at), entry.type, entry.subject, cell(data))
    session.out.print(table)


def _names_of(names: MemberNames, instance: Instance) -> NameOf:
    return lambda member_id: names.of(instance.project_id, instance.id, member_id)


def _drift(instance: Instance, name_of: NameOf) -> str | None:
    """Return what was noticed, what the platform does about it, and what a person should do."""
    drift = instance.drift
    if drift is None:
        return None
    lines = [f"{drift.state} since {moment(drift.noticed_at)}. {drift.message} {drift.next_step or ''}".rstrip()]
    lines += [f"{name_of(one.member_id)}: {one.message} ({one.code})" for one in drift.members]
    if instance.reconcile_policy == "auto":
        lines.append(f"Attempts in the last hour: {len(drift.attempts)}, left: {drift.attempts_left}.")
    return "\n".join(lines)


def _command(action: str) -> str:
    """Return the command for an action of the policy."""
    names = {
        "instance_deploy": "redeploy",
        "member_operation_create": "members add",
        "instance_update": "reconcile-policy",
        "served_project_set": "serve",
        "served_project_remove": "unserve",
    }
    return names.get(action, action.removeprefix("instance_"))


def _lines(reasons: Sequence[HealthReason], name_of: NameOf) -> str:
    return "\n".join(
        " ".join(part for part in (f"{one.message} ({one.code})", _members_named(one, name_of), one.next_step) if part)
        for one in reasons
    )


def _members_named(reason: HealthReason, name_of: NameOf) -> str | None:
    ids = reason.member_ids or ([reason.member_id] if reason.member_id else [])
    return ", ".join(name_of(one) for one in ids) or None


def _runtime_version(instance: Instance) -> str:
    """Return the version that runs, and the one that the manifest declares if that is another."""
    runs, declared = instance.runtime_version or "-", instance.declared_runtime_version
    return runs if declared in (None, runs) else f"{runs} (declared: {declared})"


def _document(document: Mapping[str, object] | None) -> str | None:
    """Format the app's own report, which may be nested."""
    return json.dumps(document, indent=2, ensure_ascii=False) if document else None


def _version(version: InstanceVersion | None) -> str | None:
    return None if version is None else f"{version.version}, runtime {version.runtime_version or '-'}"


def _closed(instance: Instance) -> str | None:
    """Describe what the app does not allow in its present mode."""
    listed = instance.mode.closed if instance.mode else []
    lines = [f"{one.kind} {one.component_key or ''}".rstrip() + f": {one.message} {one.next_step}" for one in listed]
    return "\n".join(lines) or None
