"""Assigns the GPUs of an allocation to its members: no GPU twice, unless the profiles share them. Pure.

An allocation has one instance at a time, so only the members of this instance have GPUs there. Every operation computes the
assignment from all members and what they had before, so that members that start at the same time agree.
A member keeps the GPUs that it reported, as long as it wants as many.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuaas_containers.profile import RuntimeProfile, read_profile
from gpuaas_sdk.controller import ControllerMember, Failed

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class GpuClaim:
    """Counts the GPUs of an allocation that a member wants, and has those that it has been given."""

    member: str
    label: str  # for people
    count: int
    shares: bool
    before: tuple[int, ...] = ()


def claims_on(allocation_id: str, members: Sequence[ControllerMember], manifest: Json, inputs: Json) -> list[GpuClaim]:
    """Return the claims of all members on the allocation, in an order that stays."""
    found = []
    for member in sorted(members, key=lambda one: one.ordinal):
        allocation = member.allocation
        if allocation is None or allocation.id != allocation_id or member.host_gone:
            continue
        profile = read_profile(manifest, inputs, member.component_key)
        label = f"{member.component_key}/{member.ordinal}"
        count = _count(profile, allocation.gpu_count)
        found.append(GpuClaim(member.id, label, count, profile.share_gpus, _reported(member)))
    return [one for one in found if one.count]


def assign_gpus(claims: Sequence[GpuClaim], there: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Return the GPUs by member. A member for which too few are free is left out. Members keep what they have: first those
    that do not share, then the others. New members get free GPUs in the same order.
    """
    own = [one for one in claims if not one.shares]
    sharing = [one for one in claims if one.shares]
    given: dict[str, tuple[int, ...]] = {}
    for claim in own:
        if _keeps(claim, set(there) - _numbers(given)):
            given[claim.member] = claim.before
    kept = {one.member: one.before for one in sharing if _keeps(one, set(there) - _numbers(given))}
    for claim in own:
        taken = _numbers(given) | _numbers(
            kept
        )  # a new member must not restart others, so it gets no GPU that others share
        free = [number for number in there if number not in taken]
        if claim.member not in given and len(free) >= claim.count:
            given[claim.member] = tuple(free[: claim.count])
    taken = _numbers(given)
    open_to_all = [number for number in there if number not in taken]
    new = {one.member: tuple(open_to_all[: one.count]) for one in sharing if len(open_to_all) >= one.count}
    return given | new | kept


def _keeps(claim: GpuClaim, free: set[int]) -> bool:
    return len(set(claim.before)) == claim.count and set(claim.before) <= free


def _numbers(given: Mapping[str, tuple[int, ...]]) -> set[int]:
    return {number for numbers in given.values() for number in numbers}


def gpus_of_member(member_id: str, claims: Sequence[GpuClaim], there: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of the member's GPUs. Raises Failed when others have too many of them."""
    wanted = next((one for one in claims if one.member == member_id), None)
    if wanted is None:
        return ()
    given = assign_gpus(claims, there)
    if member_id in given:
        return given[member_id]
    if len(there) < wanted.count:
        message = f"The container needs {wanted.count} GPUs, but the host shows {len(there)}."
        raise Failed("gpu_missing", message, next_step="Report the host, or place the member on another allocation.")
    others = ", ".join(f"{one.label} has {len(given[one.member])}" for one in claims if one.member in given)
    message = f"{wanted.label} needs {wanted.count} GPUs of the {len(there)} of its allocation, and {others}."
    step = "Place one of them on another allocation, or publish a version whose profiles share GPUs (share_gpus)."
    raise Failed("gpus_taken", message, next_step=step)


def _count(profile: RuntimeProfile, of_allocation: int) -> int:
    """Returns the number of GPUs. All means those of the allocation, not those that happen to be there."""
    return of_allocation if profile.gpus is None else profile.gpus


def _reported(member: ControllerMember) -> tuple[int, ...]:
    listed = (member.adapter_detail or {}).get("gpus")
    return tuple(one for one in listed if isinstance(one, int)) if isinstance(listed, list) else ()
