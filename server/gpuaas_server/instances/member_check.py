"""The check of members that leave: `min` and `depends_on` of the manifest hold on drain, remove and replace. Pure.

Only what the operation itself takes away is refused. A member that does not count any more can always go: one whose host is
gone or lost, or whose removal was asked for before. A single member can always be replaced, since another takes its place.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

from gpuaas_server.catalog.service import Manifest, Refusal
from gpuaas_server.instances.member_problems import problem_of
from gpuaas_server.instances.rows import MemberRow
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.operations.service import KINDS

_SERVING = ("ready", "degraded")


@dataclass(frozen=True, slots=True)
class Departure:
    """Members that leave by one request. `one_by_one`: each leaves when the one before it has left."""

    kind: str
    leaving: Sequence[MemberRow]
    one_by_one: bool = False


@dataclass(frozen=True, slots=True)
class _Counts:
    """Counts the members of one state (`adjective`) that each component has before and after the departure."""

    before: Counter[str]
    after: Counter[str]
    adjective: str  # of the members that are counted
    replaced: bool = False  # another member takes the place of each that leaves

    def is_short(self, key: str, needed: int) -> bool:
        """Tell whether the departure leaves too few members. A member that is being replaced may be missing meanwhile."""
        before, after = self.before[key], self.after[key]
        return after < before and after < (min(needed, before - 1) if self.replaced else needed)


def departure_refusals(manifest: Manifest, members: Sequence[MemberRow], departure: Departure) -> list[Refusal]:
    """List every component that would have too few members, or none while members of another depend on it.

    `members` are those that are meant to be there before the departure.
    """
    found: dict[tuple[str, str | None], Refusal] = {}
    for counts in _counts(members, departure):
        for refusal in (*_too_few(manifest, counts), *_dependencies(manifest, counts)):
            found.setdefault((refusal.code, refusal.component_key), refusal)
    return list(found.values())


def refuse_departure(found: Sequence[Refusal]) -> None:
    if found:
        components = list(dict.fromkeys(one.component_key for one in found))
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        details: dict[str, object] = {"components": components, "refusals": [asdict(one) for one in found]}
        raise Problem("members_required", f"{found[0].message}{more}", details)


def _counts(members: Sequence[MemberRow], departure: Departure) -> Iterator[_Counts]:
    gone = {member.id for member in departure.leaving}
    there = [member for member in members if _has_host(member)]
    serving = [member for member in there if _is_serving(member)]
    kind = KINDS[departure.kind]
    if not (kind.adds_members and departure.one_by_one):
        left = _count(one for one in serving if one.id not in gone)
        yield _Counts(_count(serving), left, "ready ", replaced=kind.adds_members)
    if kind.removes_members and not kind.adds_members:
        yield _Counts(_count(there), _count(one for one in there if one.id not in gone), "")


def _has_host(member: MemberRow) -> bool:
    return not member.host_gone and member.host_lost_since is None


def _is_serving(member: MemberRow) -> bool:
    problem = problem_of(member, busy=False)
    well = problem is None or problem.health != "unhealthy"
    return well and member.status in _SERVING and member.operation_id is None


def _count(members: Iterable[MemberRow]) -> Counter[str]:
    return Counter(member.component_key for member in members)


def _too_few(manifest: Manifest, counts: _Counts) -> Iterator[Refusal]:
    for component in manifest.components:
        if counts.is_short(component.key, component.min):
            left = f"{counts.after[component.key]} {counts.adjective}members"
            message = f"{component.key} would keep {left}, {component.min} are needed."
            yield Refusal("component_count_low", message, component.key)


def _dependencies(manifest: Manifest, counts: _Counts) -> Iterator[Refusal]:
    for component in manifest.components:
        for wanted in component.depends_on:
            if counts.after[component.key] and not counts.after[wanted] and counts.is_short(wanted, 1):
                message = f"{component.key} depends on {wanted}, which would have no {counts.adjective}member."
                yield Refusal("dependency_missing", message, component.key)
