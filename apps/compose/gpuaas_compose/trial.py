"""Tries a published version: launches it, waits for the probes that the platform runs, and removes it again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gpuaas_compose.lint import Lint
from gpuaas_compose.placement import Layout
from gpuaas_sdk import Allocation, NewInstance, Operation, Placement
from gpuaas_sdk.commands import CommandError, CommandSession


@dataclass(frozen=True, slots=True)
class Trial:
    """Says how the version is launched. `allocations_by_name` are allocations (ids or names) by their name in app.yaml."""

    allocations_by_name: Mapping[str, str]
    inputs: Mapping[str, object]
    secrets: Mapping[str, object] | None = field(default=None, repr=False)
    keep: bool = False
    deadline: float = 900


def run_trial(session: CommandSession, project_id: str, linted: Lint, trial: Trial) -> None:
    """Launch the version and say what each probe saw. Whatever the outcome, the instance is removed, unless it is kept."""
    if linted.app is None:
        raise ValueError("only a folder without faults is tried")
    layout, app = Layout(linted.app, linted.services), linted.app
    new = NewInstance(
        app=app.slug,
        name=f"{app.slug}-trial",
        version=app.version,
        placement_intent=placements_of(session, project_id, layout, trial.allocations_by_name),
        inputs=dict(trial.inputs),
        secrets=trial.secrets,
    )
    started = session.client.instances.create(project_id, new)
    session.say(f"{new.name} is launched as {started.instance.id}")
    try:
        ended = follow(session, project_id, started.operation, trial.deadline)
        say_members(session, project_id, started.instance.id)
    finally:
        if trial.keep:
            session.say(f"{new.name} is kept. Remove it with `gpuaas instances decommission {new.name}`.")
        else:
            removed = session.client.instances.operate(project_id, started.instance.id, "decommission")
            gone = follow(session, project_id, removed.operation, trial.deadline)
            session.say("Nothing of it is left on its hosts." if gone.status == "succeeded" else sentence_of(gone))
    if ended.status != "succeeded":
        failure = ended.failure
        next_step = "" if failure is None else failure.next_step
        raise CommandError("trial_failed" if failure is None else failure.code, sentence_of(ended), next_step)
    if not trial.keep and gone.status != "succeeded":
        raise CommandError("trial_not_removed", sentence_of(gone), f"Look at `gpuaas instances show {new.name}`.")


def placements_of(
    session: CommandSession, project_id: str, layout: Layout, allocations_by_name: Mapping[str, str]
) -> Sequence[Placement]:
    """Put each service where its allocation is; the allocations are ids or names, by their name in app.yaml."""
    names = list(dict.fromkeys(str(layout.allocation_of(service.name)) for service in layout.services))
    if set(names) != set(allocations_by_name):
        wanted = " ".join(f"--place {name}=ALLOCATION" for name in names)
        raise CommandError("placement_missing", f"The app has the allocations {', '.join(names)}.", wanted, usage=True)
    known = list(session.client.allocations.list(project_id))
    found = {name: _allocation_id(known, given) for name, given in allocations_by_name.items()}
    return [
        Placement(component_key=service.name, allocation_id=found[str(layout.allocation_of(service.name))])
        for service in layout.services
    ]


def only_allocation(session: CommandSession, project_id: str) -> str:
    """Return the project's active allocation, if there is exactly one."""
    active = [one for one in session.client.allocations.list(project_id) if one.state == "active"]
    if len(active) != 1:
        sentence = f"The project has {len(active)} active allocations."
        raise CommandError("allocation_missing", sentence, "Name one with --allocation.", usage=True)
    return active[0].id


def _allocation_id(known: Sequence[Allocation], given: str) -> str:
    found = [one.id for one in known if given in (one.id, one.name) and one.state == "active"]
    if len(found) != 1:
        sentence = f"There {'is no' if not found else 'is more than one'} active allocation {given}."
        raise CommandError("allocation_unknown", sentence, "List them with `gpuaas allocations list`.", usage=True)
    return found[0]


def follow(session: CommandSession, project_id: str, operation: Operation, deadline: float) -> Operation:
    """Return the operation when it has ended; raise after so many seconds."""
    *_, ended = session.client.operations.follow(project_id, operation.id, deadline)
    return ended


def say_members(session: CommandSession, project_id: str, instance_id: str) -> None:
    """Say how each member is, and what its probes saw."""
    for member in session.client.instances.members(project_id, instance_id):
        probes = "; ".join(f"{probe.kind} {probe.status} ({probe.answer})" for probe in member.probes)
        session.say(f"{member.component_key}: {member.status}{f', {probes}' if probes else ', no probe'}")


def sentence_of(operation: Operation) -> str:
    """Say how the operation ended."""
    if operation.failure is None:
        return f"The {operation.kind} is {operation.status}."
    return f"The {operation.kind} failed: {operation.failure.message}"
