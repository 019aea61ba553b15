"""The three modes of a cluster, and the operations that are closed in each. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from gpuaas_sdk import InstanceMember
from gpuaas_sdk.controller import ClosedOperation, ControllerMember, Failed, Mode

SINGLE, SPLIT, MULTI = "single-node", "split", "multi-node"
MEANINGS = {
    SINGLE: "The controller and its one worker share the only allocation.",
    SPLIT: "The controller has its allocation to itself; workers are on others.",
    MULTI: "The controller's allocation also has a worker; other workers are on other allocations.",
}
# Closed in every mode.
CONTROLLER_STAYS = tuple(
    ClosedOperation(kind, f"The controller cannot be {done}: without it there is no cluster.", step, "controller")
    for kind, done, step in (
        ("drain", "drained", "Drain its workers."),
        ("remove", "removed", "Decommission the cluster, or recover the controller."),
        ("replace", "replaced", "Deploy another cluster and decommission this one, or recover the controller."),
    )
)
LAST_WORKER = ClosedOperation(
    "remove",
    "This is the only worker, and a cluster needs at least one.",
    "Add or replace a worker first, or decommission the cluster.",
    "worker",
)
ON_THE_CONTROLLER = ClosedOperation(
    "replace",
    "The only worker is on the controller's own allocation.",
    "Add a worker on the other allocation, then remove this one.",
    "worker",
)
FIXED = ClosedOperation(
    "add",
    "The cluster was deployed with mode=single-node.",
    "Deploy another cluster without mode=single-node, and decommission this one.",
    "worker",
)
Placement = tuple[str, str | None]  # a component, and the allocation that a member of it is on


def mode_of(placements: Iterable[Placement]) -> str:
    """Returns the mode that results from where the members are."""
    where = [(component, place) for component, place in placements if place is not None]
    controllers = {place for component, place in where if component == "controller"}
    workers = {place for component, place in where if component == "worker"}
    if not workers & controllers:
        return SPLIT
    return SINGLE if workers <= controllers else MULTI


def describe_mode(placements: Sequence[Placement], wanted: str | None) -> Mode:
    """Returns the mode with the operations that are closed in it, including those that the `mode` input closes."""
    name, closed = mode_of(placements), [*CONTROLLER_STAYS]
    if sum(component == "worker" for component, _ in placements) < 2:
        closed.append(LAST_WORKER)
    if name == SINGLE:
        closed.append(ON_THE_CONTROLLER)
    if name == wanted == SINGLE:
        closed.append(FIXED)
    return Mode(name, MEANINGS[name], tuple(closed))


def require_mode(wanted: str | None, name: str) -> None:
    """Fails when the placement results in another mode than the one requested."""
    if wanted not in (None, name):
        raise Failed(
            "mode_mismatch",
            f"The placement results in the mode {name}, but {wanted} was requested.",
            next_step=f"{MEANINGS[str(wanted)]} Place the members accordingly, or leave out the mode.",
        )


def placements_of(members: Sequence[ControllerMember], without: Sequence[ControllerMember] = ()) -> list[Placement]:
    """Returns where the members of an operation's cluster are, without those that leave."""
    gone = {one.id for one in without}
    remaining = [one for one in members if one.id not in gone and one.status != "removing"]
    return [(one.component_key, None if one.allocation is None else one.allocation.id) for one in remaining]


def require_worker(members: Sequence[ControllerMember], without: Sequence[ControllerMember]) -> None:
    """Fails when no worker would remain: parallel removals could each count on the others. A member without a host may go."""
    remaining = [component for component, _ in placements_of(members, without)]
    if "worker" not in remaining and not any(one.host_gone for one in without):
        raise Failed("last_worker", LAST_WORKER.message, next_step=LAST_WORKER.next_step)


def mode_of_instance(members: Sequence[InstanceMember], inputs: Mapping[str, object]) -> Mode:
    """Returns the current mode for the health check: parallel removals may each have reported one that counts the others."""
    wanted = inputs.get("mode")
    placements = [
        (one.component_key, one.allocation_id) for one in members if one.status not in ("removing", "removed")
    ]
    return describe_mode(placements, None if wanted is None else str(wanted))
