"""The compatibility check: every reason at once, none that is not true, and the same answer for the same facts."""

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuaas_server.catalog.compatibility_check import (
    MemberFacts,
    PlacementFacts,
    Refusal,
    placement_refusals,
    refuse_placement,
)
from gpuaas_server.catalog.manifest import Manifest
from gpuaas_server.catalog.manifest_schema import check_inputs
from gpuaas_server.kernel.errors import Problem
from tests_support.manifests import DIGEST, manifest_of


def placement(component: str = "node", allocation: str = "alc_a", **facts: Any) -> PlacementFacts:
    plain = PlacementFacts(component, allocation, "active", "baremetal", 8, f"nod_of_{allocation}", "tnt_a", "prj_a")
    return replace(plain, **facts)


def member(component: str = "head", allocation: str = "alc_h", **facts: Any) -> MemberFacts:
    return replace(MemberFacts("mem_x", component, allocation, f"nod_of_{allocation}", "baremetal", "prj_a"), **facts)


def codes(found: list[Refusal]) -> list[str]:
    return sorted({refusal.code for refusal in found})


HEAD_AND_NODE = [placement("head"), placement("node")]


def test_a_placement_that_fits_is_not_refused() -> None:
    assert placement_refusals(manifest_of(), HEAD_AND_NODE) == []
    assert placement_refusals(manifest_of(), HEAD_AND_NODE, project_id="prj_a") == []


def test_all_reasons_are_returned_together() -> None:
    manifest = manifest_of(
        compatibility={"requires_capacity_shape": ["baremetal"], "min_gpu_count": 2, "max_gpu_count": 4}
    )
    placements = [
        placement("node", "alc_a", state="releasing", shape="gpu_slice", gpu_count=1, busy_with="ins_other"),
        placement("node", "alc_b", project_id="prj_b"),
        placement("nobody", "alc_c"),
    ]
    assert codes(placement_refusals(manifest, placements, project_id="prj_a")) == [
        "allocation_busy",
        "allocation_foreign",
        "allocation_not_active",
        "component_count_low",
        "component_unknown",
        "dependency_missing",
        "shape_unsupported",
        "too_few_gpus",
        "too_many_gpus",
    ]


def test_a_slice_runs_no_containers_and_the_refusal_says_so() -> None:
    profile = {"image": DIGEST}
    launchable = manifest_of(artifact={"kind": "launchable", "digest": DIGEST}, runtime_profile=profile)
    assert placement_refusals(launchable, HEAD_AND_NODE) == []
    slices = [placement("head"), placement("node", "alc_b", shape="gpu_slice")]
    [refused] = placement_refusals(launchable, slices)
    assert (refused.code, refused.component_key, refused.allocation_id) == ("shape_unsupported", "node", "alc_b")
    assert refused.message == "alc_b is a slice, which cannot run containers; the app needs a whole host."
    own_controller = manifest_of(artifact={"kind": "oci", "digest": DIGEST}, runtime_profile=profile)
    assert placement_refusals(own_controller, slices) == []


def test_a_deploy_needs_the_least_counts_and_an_add_does_not() -> None:
    assert codes(placement_refusals(manifest_of(), [placement("head")])) == ["component_count_low"]
    assert placement_refusals(manifest_of(), [placement("node")], [member()], adding=True) == []
    assert codes(placement_refusals(manifest_of(), [], [member()], adding=True)) == ["placement_empty"]


def test_no_member_joins_beyond_the_maximum() -> None:
    there = [member("head"), *(member("node", f"alc_{n}") for n in range(8))]
    found = placement_refusals(manifest_of(), [placement("node", "alc_new")], there, adding=True)
    assert codes(found) == ["component_count_high", "members_too_many"]
    assert codes(placement_refusals(manifest_of(), [placement("head", "alc_new")], [member("head")], adding=True)) == [
        "component_count_high"
    ]


def test_a_component_waits_for_what_it_depends_on() -> None:
    found = placement_refusals(manifest_of(), [placement("node")], [], adding=True)
    assert [(one.code, one.component_key) for one in found] == [("dependency_missing", "node")]


def test_one_component_is_once_on_an_allocation() -> None:
    assert codes(placement_refusals(manifest_of(), [*HEAD_AND_NODE, placement("node")])) == ["placement_repeated"]
    there = [member("head"), member("node", "alc_a")]
    assert codes(placement_refusals(manifest_of(), [placement("node")], there, adding=True)) == ["placement_repeated"]


def placed(placement: str) -> Manifest:
    parts = [{"key": "head", "min": 1, "max": 1, "placement": placement}, {"key": "node", "min": 1, "max": 8}]
    return manifest_of(components=parts)


def test_a_component_with_its_own_allocation_shares_it_with_no_other() -> None:
    assert codes(placement_refusals(placed("own_allocation"), HEAD_AND_NODE)) == ["allocation_shared"]
    same_node = [placement("head"), placement("node", "alc_b", node_id="nod_of_alc_a")]
    assert placement_refusals(placed("own_allocation"), same_node) == []


def test_a_component_with_its_own_node_shares_it_with_no_other_in_either_order() -> None:
    same_node = [placement("head"), placement("node", "alc_b", node_id="nod_of_alc_a")]
    assert codes(placement_refusals(placed("own_node"), same_node)) == ["node_shared"]
    assert codes(placement_refusals(placed("own_node"), same_node[::-1])) == ["node_shared"]
    assert codes(placement_refusals(placed("own_node"), HEAD_AND_NODE)) == ["node_shared"]
    assert placement_refusals(placed("own_node"), [placement("head"), placement("node", "alc_b")]) == []
    newcomer = placement("node", "alc_b", node_id="nod_of_alc_h")
    assert codes(placement_refusals(placed("own_node"), [newcomer], [member()], adding=True)) == ["node_shared"]


def test_an_exclusive_node_is_bare_metal() -> None:
    manifest = manifest_of(compatibility={"requires_exclusive_node": True})
    slices = [replace(one, shape="gpu_slice") for one in HEAD_AND_NODE]
    assert codes(placement_refusals(manifest, slices)) == ["exclusive_node_required"]


def test_slices_do_not_reach_each_other_not_even_on_one_node() -> None:
    manifest = manifest_of(compatibility={"requires_node_network": True})
    spread = [placement("head", shape="gpu_slice"), placement("node", "alc_b", shape="gpu_slice")]
    assert codes(placement_refusals(manifest, spread)) == ["node_network_missing"]
    together = [replace(one, node_id="nod_1") for one in spread]
    assert codes(placement_refusals(manifest, together)) == ["node_network_missing"]
    in_one_slice = [replace(one, allocation_id="alc_a", node_id="nod_1") for one in spread]
    assert placement_refusals(manifest, in_one_slice) == []
    assert placement_refusals(manifest, [replace(one, shape="baremetal") for one in spread]) == []
    grown = placement_refusals(manifest, [placement("node")], [member(shape="gpu_slice")], adding=True)
    assert codes(grown) == ["node_network_missing"]


def test_a_components_own_demands_come_on_top_of_the_apps() -> None:
    parts = [
        {"key": "head", "min": 1, "max": 1},
        {"key": "node", "min": 1, "max": 8, "compatibility": {"min_gpu_count": 4}},
    ]
    small = [placement("head", gpu_count=1), placement("node", gpu_count=1)]
    found = placement_refusals(manifest_of(components=parts), small)
    assert [(one.code, one.component_key) for one in found] == [("too_few_gpus", "node")]


def test_the_problem_carries_every_refusal() -> None:
    refuse_placement([])
    found = placement_refusals(manifest_of(), [placement("nobody", busy_with="ins_b")])
    with pytest.raises(Problem) as refused:
        refuse_placement(found)
    assert refused.value.code == "placement_refused"
    listed = refused.value.details["refusals"]
    assert isinstance(listed, list)
    assert {one["code"] for one in listed} == {one.code for one in found}


COMPONENTS = ("head", "node", "nobody")
WISHES = st.builds(
    PlacementFacts,
    st.sampled_from(COMPONENTS),
    st.sampled_from(["alc_a", "alc_b", "alc_c", "alc_d"]),
    st.sampled_from(["active", "releasing"]),
    st.sampled_from(["baremetal", "gpu_slice"]),
    st.integers(0, 8),
    st.none() | st.sampled_from(["nod_1", "nod_2"]),
    st.just("tnt_a"),
    st.sampled_from(["prj_a", "prj_b"]),
    st.none() | st.just("ins_other"),
)
MEMBERS = st.builds(
    MemberFacts,
    st.just("mem_x"),
    st.sampled_from(["head", "node"]),
    st.sampled_from(["alc_a", "alc_b", "alc_e"]),
    st.sampled_from(["nod_1", "nod_2"]),
    st.sampled_from(["baremetal", "gpu_slice"]),
    st.just("prj_a"),
)
MANIFESTS = st.sampled_from(
    [
        manifest_of(),
        placed("own_node"),
        placed("own_allocation"),
        manifest_of(compatibility={"requires_node_network": True, "min_gpu_count": 1}),
        manifest_of(compatibility={"requires_capacity_shape": ["baremetal"], "requires_exclusive_node": True}),
    ]
)
SITUATION = (MANIFESTS, st.lists(WISHES, max_size=6), st.lists(MEMBERS, max_size=4), st.booleans())


@given(*SITUATION)
@settings(max_examples=300, deadline=None)
def test_what_is_refused_is_refused_in_any_order_and_each_reason_once(
    manifest: Manifest, placements: list[PlacementFacts], living: list[MemberFacts], adding: bool
) -> None:
    found = placement_refusals(manifest, placements, living, adding, "prj_a")
    assert len(found) == len(set(found))
    shuffled = random.Random(7).sample(placements, len(placements))
    again = placement_refusals(manifest, shuffled, living, adding, "prj_a")
    assert {(one.code, one.allocation_id) for one in again if one.allocation_id is None} == {
        (one.code, one.allocation_id) for one in found if one.allocation_id is None
    }
    assert bool(again) == bool(found)


@given(*SITUATION)
@settings(max_examples=300, deadline=None)
def test_one_more_fault_never_makes_a_refusal_go_away(
    manifest: Manifest, placements: list[PlacementFacts], living: list[MemberFacts], adding: bool
) -> None:
    before = codes(placement_refusals(manifest, placements, living, adding, "prj_a"))
    spoilt = [replace(one, state="releasing", busy_with="ins_z", project_id="prj_z") for one in placements]
    assert set(before) <= set(codes(placement_refusals(manifest, spoilt, living, adding, "prj_a")))


@given(*SITUATION)
@settings(max_examples=300, deadline=None)
def test_what_passes_holds_to_the_manifest(
    manifest: Manifest, placements: list[PlacementFacts], living: list[MemberFacts], adding: bool
) -> None:
    if placement_refusals(manifest, placements, living, adding, "prj_a"):
        return
    everybody = [*placements, *living]
    assert placements
    assert all((one.state, one.project_id, one.busy_with) == ("active", "prj_a", None) for one in placements)
    for component in manifest.components:
        count = sum(one.component_key == component.key for one in everybody)
        assert adding or count >= component.min
        if any(one.component_key == component.key for one in placements):
            assert count <= component.max
            assert all(any(one.component_key == need for one in everybody) for need in component.depends_on)
    pairs = [(one.component_key, one.allocation_id) for one in placements]
    assert len(pairs) == len(set(pairs))


def test_thousands_of_members_are_judged_at_once() -> None:
    parts = [{"key": "head", "min": 1, "max": 1}, {"key": "node", "min": 1, "max": 4095, "placement": "own_node"}]
    manifest = manifest_of(components=parts, max_members=4096)
    placements = [placement("head"), *(placement("node", f"alc_{n}") for n in range(4095))]
    assert placement_refusals(manifest, placements) == []
    crowded = placement_refusals(manifest, [replace(one, node_id="nod_1") for one in placements])
    assert codes(crowded) == ["node_shared"]


def test_inputs_are_validated_by_the_schema_and_never_repeated() -> None:
    schema = manifest_of().inputs
    check_inputs(schema, {"greeting": "hello", "tries": 2})
    with pytest.raises(Problem) as refused:
        check_inputs(schema, {"greeting": "s3cret-but-much-too-long", "tries": "s3cret", "more": "s3cret"})
    assert refused.value.code == "inputs_invalid"
    faults = refused.value.details["faults"]
    assert isinstance(faults, list)
    assert sorted(fault["path"] for fault in faults) == ["", "greeting", "tries"]
    assert "s3cret" not in str(refused.value.details) + str(refused.value)


def test_the_components_of_a_group_share_an_allocation_and_no_other_is_on_it() -> None:
    groups = {"web": "front", "cache": "front", "store": "data", "free": None}
    components = [
        {
            "key": key,
            "min": 0 if group is None else 1,
            "max": 1,
            **({} if group is None else {"allocation_group": group}),
        }
        for key, group in groups.items()
    ]
    manifest = manifest_of(components=components, probes=[], ui={})
    fits = [placement("web", "alc_a"), placement("cache", "alc_a"), placement("store", "alc_b")]
    assert placement_refusals(manifest, fits) == []
    split = [placement("web", "alc_a"), placement("cache", "alc_b"), placement("store", "alc_c")]
    assert codes(placement_refusals(manifest, split)) == ["allocation_group_split"]
    mixed = [placement(key, "alc_a") for key in ("web", "cache", "store")]
    assert codes(placement_refusals(manifest, mixed)) == ["allocation_group_mixed"]
    assert codes(placement_refusals(manifest, [*fits, placement("free", "alc_b")])) == ["allocation_group_mixed"]
    kept = [member("web", "alc_a"), member("store", "alc_b")]
    assert codes(placement_refusals(manifest, [placement("cache", "alc_c")], kept, adding=True)) == [
        "allocation_group_split"
    ]
