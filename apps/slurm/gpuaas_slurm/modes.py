"""The three forms that a cluster has, and what may be asked of it in each. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_sdk.controller import ControllerMember, Failed

SINGLE, SPLIT, MULTI = "single-node", "split", "multi-node"
_EVERYWHERE = ("stop", "start", "restart", "upgrade", "rollback", "reconcile", "repair", "decommission")
_WITH_WORKERS = ("add", "drain", "remove", "replace", "recover")


@dataclass(frozen=True, slots=True)
class Mode:
    name: str
    meaning: str
    actions: tuple[str, ...]


MODES = {
    SINGLE: Mode(
        SINGLE,
        "The controller and its one worker share the only allocation.",
        # Its only worker can be mended, but not taken away: a cluster that runs nothing is decommissioned.
        (*_EVERYWHERE, "add", "drain", "recover"),
    ),
    SPLIT: Mode(
        SPLIT, "The controller has its allocation to itself; workers are on others.", (*_EVERYWHERE, *_WITH_WORKERS)
    ),
    MULTI: Mode(
        MULTI,
        "The controller's allocation works too, together with workers on others.",
        (*_EVERYWHERE, *_WITH_WORKERS),
    ),
}


def mode_of(members: Sequence[ControllerMember]) -> str:
    """By where the members are, not by what somebody says."""
    controllers = {place for one in members if one.component_key == "controller" and (place := _place(one))}
    workers = {place for one in members if one.component_key == "worker" and (place := _place(one))}
    if not workers & controllers:
        return SPLIT
    return SINGLE if workers <= controllers else MULTI


def require_mode(wanted: str | None, members: Sequence[ControllerMember]) -> Mode:
    """Who launched it for one form is told when the placement makes another of it."""
    found = mode_of(members)
    if wanted not in (None, found):
        raise Failed(
            "mode_mismatch",
            f"The placement is {found} and the cluster was asked to be {wanted}.",
            next_step=f"{MODES[str(wanted)].meaning} Place the members so, or leave the mode open.",
        )
    return MODES[found]


def _place(member: ControllerMember) -> str | None:
    return None if member.allocation is None else member.allocation.id
