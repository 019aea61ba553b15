"""The compatibility check: does this placement fit the app? Pure, and it answers with *all* reasons why not.

The same function decides a deploy and each add. What it looks at are facts that the caller has read under its locks.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict

from gpuaas_server.catalog.manifest import Compatibility, Manifest
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem

ACTIVE = "active"


@dataclass(frozen=True, slots=True)
class PlacementFacts:
    """One requested member, and the allocation for it. `busy_with` is another instance that uses the allocation."""

    component_key: str
    allocation_id: str
    state: str
    shape: str
    gpu_count: int
    node_id: str | None
    tenant_id: str
    project_id: str
    busy_with: str | None = None


@dataclass(frozen=True, slots=True)
class MemberFacts:
    """A member that the instance has already and keeps."""

    member_id: str
    component_key: str
    allocation_id: str
    node_id: str | None
    shape: str
    project_id: str


Facts = PlacementFacts | MemberFacts


@dataclass(frozen=True, slots=True)
class Refusal:
    """Says why a placement does not fit. `component_key` and `allocation_id` say where, when it is about one of them."""

    code: str
    message: str
    component_key: str | None = None
    allocation_id: str | None = None


def placement_refusals(
    manifest: Manifest,
    placements: Sequence[PlacementFacts],
    living: Sequence[MemberFacts] = (),
    adding: bool = False,
    project_id: str | None = None,
    served: Collection[str] = (),
) -> list[Refusal]:
    """List every reason why the placement does not fit.

    `adding`: members join a living instance, so minimum counts no longer apply.
    `project_id` is the instance's; without it, all must be of one project. `served` are the further projects whose
    allocations it may use.
    """
    all_members: list[Facts] = [*living, *placements]
    found = [
        *_of_members(manifest, placements),
        *_foreign(placements, all_members, project_id, served),
        *_counts(manifest, placements, all_members, adding),
        *_dependencies(manifest, placements, all_members),
        *_check_neighbours(manifest, all_members),
        *_groups(manifest, all_members),
        *_network(manifest, all_members),
    ]
    return list(dict.fromkeys(found))


def refuse_placement(found: Sequence[Refusal]) -> None:
    if found:
        listed: list[object] = [asdict(refusal) for refusal in found]
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise Problem("placement_refused", f"{found[0].message}{more}", {"refusals": listed[:200], "count": len(found)})


def _of_members(manifest: Manifest, placements: Sequence[PlacementFacts]) -> Iterator[Refusal]:
    """Check each requested member by itself."""
    for requested in placements:
        component = manifest.component(requested.component_key)
        where = (requested.component_key, requested.allocation_id)
        if component is None:
            yield Refusal("component_unknown", f"The app has no component {requested.component_key}.", *where)
        if requested.state != ACTIVE:
            yield Refusal(
                "allocation_not_active", f"{requested.allocation_id} is {requested.state}, not active.", *where
            )
        if requested.busy_with is not None:
            yield Refusal("allocation_busy", f"{requested.allocation_id} runs {requested.busy_with} already.", *where)
        if manifest.artifact.kind == "launchable" and requested.shape == "gpu_slice":
            message = f"{requested.allocation_id} is a slice, which cannot run containers; the app needs a whole host."
            yield Refusal("shape_unsupported", message, *where)
        layers = [manifest.compatibility] + ([component.compatibility] if component else [])
        for layer in layers:
            yield from _misfits(layer, requested)


def _misfits(layer: Compatibility, requested: PlacementFacts) -> Iterator[Refusal]:
    where = (requested.component_key, requested.allocation_id)
    name, gpus = requested.allocation_id, requested.gpu_count
    if layer.requires_capacity_shape and requested.shape not in layer.requires_capacity_shape:
        wanted = " or ".join(layer.requires_capacity_shape)
        yield Refusal("shape_unsupported", f"{name} is {requested.shape}; the app runs on {wanted}.", *where)
    if layer.requires_exclusive_node and requested.shape != "baremetal":
        yield Refusal("exclusive_node_required", f"{name} shares its node with other allocations.", *where)
    if gpus < layer.min_gpu_count:
        yield Refusal("too_few_gpus", f"{name} has {gpus} GPUs; the app needs at least {layer.min_gpu_count}.", *where)
    if layer.max_gpu_count is not None and gpus > layer.max_gpu_count:
        yield Refusal("too_many_gpus", f"{name} has {gpus} GPUs; the app takes at most {layer.max_gpu_count}.", *where)


def _foreign(
    placements: Sequence[PlacementFacts], all_members: Sequence[Facts], project_id: str | None, served: Collection[str]
) -> Iterator[Refusal]:
    home = project_id or next((one.project_id for one in all_members), None)
    for requested in placements:
        if requested.project_id != home and requested.project_id not in served:
            message = f"{requested.allocation_id} is not an allocation of a project that the instance serves."
            yield Refusal("allocation_foreign", message, requested.component_key, requested.allocation_id)


def _counts(
    manifest: Manifest, placements: Sequence[PlacementFacts], all_members: Sequence[Facts], adding: bool
) -> Iterator[Refusal]:
    counts = Counter(one.component_key for one in all_members)
    requested = {one.component_key for one in placements}
    for component in manifest.components:
        there = counts[component.key]
        if not adding and there < component.min:
            message = f"{component.key} has {there} members, {component.min} are needed."
            yield Refusal("component_count_low", message, component.key)
        if there > component.max and component.key in requested:
            message = f"{component.key} would have {there} members, {component.max} are the most."
            yield Refusal("component_count_high", message, component.key)
    total = len(all_members)
    if placements and total > manifest.max_members:
        yield Refusal(
            "members_too_many", f"There would be {total} members; the app takes at most {manifest.max_members}."
        )
    if not placements:
        yield Refusal("placement_empty", "The placement has no member.")


def _dependencies(
    manifest: Manifest, placements: Sequence[PlacementFacts], all_members: Sequence[Facts]
) -> Iterator[Refusal]:
    there = {one.component_key for one in all_members}
    requested = {one.component_key for one in placements}
    for component in manifest.components:
        for wanted in component.depends_on:
            if component.key in requested and wanted not in there:
                message = f"{component.key} depends on {wanted}, which has no member."
                yield Refusal("dependency_missing", message, component.key)


def _check_neighbours(manifest: Manifest, all_members: Sequence[Facts]) -> Iterator[Refusal]:
    """Find members that share an allocation or a node and may not, because of either of them.

    The components on each are kept, not the members: thousands of members cost thousands of steps, not millions.
    """
    on_allocation: dict[str, dict[str, None]] = defaultdict(dict)
    on_node: dict[str | None, dict[str, None]] = defaultdict(dict)
    for one in all_members:
        beside, near = on_allocation[one.allocation_id], on_node[one.node_id]
        if isinstance(one, PlacementFacts):
            yield from _conflicts(manifest, one, beside, {} if one.node_id is None else near)
        beside[one.component_key] = near[one.component_key] = None


def _conflicts(
    manifest: Manifest, requested: PlacementFacts, beside: Iterable[str], near: Iterable[str]
) -> Iterator[Refusal]:
    key, allocation_id = requested.component_key, requested.allocation_id
    if key in beside:
        yield Refusal("placement_repeated", f"{key} is on {allocation_id} already.", key, allocation_id)
    for other in beside:
        if other != key and "own_allocation" in _placements(manifest, key, other):
            message = f"{key} and {other} cannot share {allocation_id}."
            yield Refusal("allocation_shared", message, key, allocation_id)
    for other in dict.fromkeys((*beside, *near)):
        if "own_node" in _placements(manifest, key, other):
            message = f"{key} on {allocation_id} would share its node with {other}."
            yield Refusal("node_shared", message, key, allocation_id)


def _placements(manifest: Manifest, *keys: str) -> set[str]:
    return {component.placement for key in keys if (component := manifest.component(key)) is not None}


def _groups(manifest: Manifest, all_members: Sequence[Facts]) -> Iterator[Refusal]:
    """Check that components of an allocation group are on one allocation, and that nothing else is on it."""
    place_of: dict[str, str] = {}
    group_on: dict[str, str | None] = {}
    for one in all_members:
        component = manifest.component(one.component_key)
        group = None if component is None else component.allocation_group
        where = (one.component_key, one.allocation_id)
        if group is not None and place_of.setdefault(group, one.allocation_id) != one.allocation_id:
            message = f"{one.component_key} belongs on {place_of[group]}, with the other components of {group}."
            yield Refusal("allocation_group_split", message, *where)
        if group_on.setdefault(one.allocation_id, group) != group:
            message = f"{one.component_key} cannot share {one.allocation_id} with components of another group."
            yield Refusal("allocation_group_mixed", message, *where)


def _network(manifest: Manifest, all_members: Sequence[Facts]) -> Iterator[Refusal]:
    """Check that members that need the nodes' own network are on it, unless all of them are on one allocation.

    A slice reaches no other allocation, not even one on its own node: nothing routes between slices.
    """
    bound = [one for one in all_members if _needs_network(manifest, one.component_key)]
    if len({one.allocation_id for one in bound}) < 2 or not any(isinstance(one, PlacementFacts) for one in bound):
        return
    for one in bound:
        if one.shape == "gpu_slice":
            message = f"{one.allocation_id} is a slice: it does not reach members on other allocations."
            yield Refusal("node_network_missing", message, one.component_key, one.allocation_id)


def _needs_network(manifest: Manifest, component_key: str) -> bool:
    component = manifest.component(component_key)
    own = component is not None and component.compatibility.requires_node_network
    return own or manifest.compatibility.requires_node_network
