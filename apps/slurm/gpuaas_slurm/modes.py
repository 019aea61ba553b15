"""The three forms that a cluster has, and what may be asked of it in each. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from gpuaas_sdk import InstanceMember
from gpuaas_sdk.controller import ClosedOperation, ControllerMember, Failed, Mode

SINGLE, SPLIT, MULTI = "single-node", "split", "multi-node"
MEANINGS = {
    SINGLE: "The controller and its one worker share the only allocation.",
    SPLIT: "The controller has its allocation to itself; workers are on others.",
    MULTI: "The controller's allocation works too, together with workers on others.",
}
# In every form: without its controller there is no cluster.
CONTROLLER_STAYS = tuple(
    ClosedOperation(kind, f"The controller cannot be {done}: without it there is no cluster.", step, "controller")
    for kind, done, step in (
        ("drain", "drained", "Drain its workers."),
        ("remove", "removed", "Decommission the cluster, or recover the controller."),
        ("replace", "replaced", "Launch another cluster and decommission this one, or recover the controller."),
    )
)
LAST_WORKER = ClosedOperation(
    "remove",
    "It is the only worker, and a cluster that runs nothing is no cluster.",
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
    "The cluster was launched to be single-node.",
    "Launch another one without mode=single-node, and decommission this one.",
    "worker",
)
Place = tuple[str, str | None]  # a component, and the allocation that a member of it is on


def mode_of(places: Iterable[Place]) -> str:
    """By where the members are, and not by what somebody says."""
    where = [(component, place) for component, place in places if place is not None]
    controllers = {place for component, place in where if component == "controller"}
    workers = {place for component, place in where if component == "worker"}
    if not workers & controllers:
        return SPLIT
    return SINGLE if workers <= controllers else MULTI


def described(places: Sequence[Place], wanted: str | None) -> Mode:
    """The form, with what is closed in it: also because the cluster was launched for this form alone."""
    name, closed = mode_of(places), [*CONTROLLER_STAYS]
    if sum(component == "worker" for component, _ in places) < 2:
        closed.append(LAST_WORKER)
    if name == SINGLE:
        closed.append(ON_THE_CONTROLLER)
    if name == wanted == SINGLE:
        closed.append(FIXED)
    return Mode(name, MEANINGS[name], tuple(closed))


def require_mode(wanted: str | None, name: str) -> None:
    """Who launched it for one form is told when the placement makes another of it."""
    if wanted not in (None, name):
        raise Failed(
            "mode_mismatch",
            f"The placement is {name} and the cluster was asked to be {wanted}.",
            next_step=f"{MEANINGS[str(wanted)]} Place the members so, or leave the mode open.",
        )


def at_work(members: Sequence[ControllerMember], without: Sequence[ControllerMember] = ()) -> list[Place]:
    """Of an operation: where its cluster's members are, when those that leave have left."""
    gone = {one.id for one in without}
    staying = [one for one in members if one.id not in gone and one.status != "removing"]
    return [(one.component_key, None if one.allocation is None else one.allocation.id) for one in staying]


def require_worker(members: Sequence[ControllerMember], without: Sequence[ControllerMember]) -> None:
    """All at once they could be asked away, each as one of several. One whose machine is gone may always go."""
    staying = [component for component, _ in at_work(members, without)]
    if "worker" not in staying and not any(one.host_gone for one in without):
        raise Failed("last_worker", LAST_WORKER.message, next_step=LAST_WORKER.next_step)


def at_rest(members: Sequence[InstanceMember], inputs: Mapping[str, object]) -> Mode:
    """Of a look at a cluster: several that left at once may each have seen the others still there."""
    wanted = inputs.get("mode")
    places = [(one.component_key, one.allocation_id) for one in members if one.status not in ("removing", "removed")]
    return described(places, None if wanted is None else str(wanted))
