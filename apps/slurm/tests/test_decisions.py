"""Pure decisions: inputs, modes, stranded jobs, health, access."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from gpuaas_sdk import ControllerAllocation, InstanceMember
from gpuaas_sdk.controller import ControllerMember, Failed
from gpuaas_slurm import health, layout
from gpuaas_slurm.access import LoginHost, access_bundle
from gpuaas_slurm.inputs import FIRST_UID, Inputs
from gpuaas_slurm.job_drain import JobPolicy, stranded_by
from gpuaas_slurm.modes import (
    MULTI,
    SINGLE,
    SPLIT,
    describe_mode,
    mode_of,
    mode_of_instance,
    placements_of,
    require_mode,
    require_worker,
)
from gpuaas_slurm.projects import PREFIX
from gpuaas_slurm.scheduler import Job, Node, count_gpus, expand_hostlist, parse_job, parse_node

MANIFEST = (Path(layout.__file__).parent / "manifest.yaml").read_text()


def member(component: str, place: str) -> ControllerMember:
    return ControllerMember(
        id=f"mem_{component}_{place}", component_key=component, allocation=ControllerAllocation(id=place)
    )


@pytest.mark.parametrize(
    ("workers", "mode"), [(["a"], SINGLE), (["b"], SPLIT), (["b", "c"], SPLIT), (["a", "b"], MULTI), ([], SPLIT)]
)
def test_the_placement_determines_the_mode(workers: list[str], mode: str) -> None:
    members = [member("controller", "a"), *(member("worker", place) for place in workers)]
    assert mode_of(placements_of(members)) == mode
    require_mode(mode, mode)
    require_mode(None, mode)


def test_leaving_members_do_not_count_for_the_mode() -> None:
    members = [member("controller", "a"), member("worker", "a"), member("worker", "b")]
    assert mode_of(placements_of(members, without=members[2:])) == SINGLE
    assert mode_of(placements_of(members, without=members[1:2])) == SPLIT
    assert mode_of(placements_of([*members[:2], replace(members[2], status="removing")])) == SINGLE


def at(component: str, place: str, status: str) -> InstanceMember:
    return InstanceMember(id=f"mem_{place}", component_key=component, ordinal=1, allocation_id=place, status=status)


def test_the_health_check_reports_the_current_mode() -> None:
    """When two members leave at the same time, the last operation may still have counted the other one."""
    seen = [
        at("controller", "a", "ready"),
        at("worker", "a", "ready"),
        at("worker", "b", "removed"),
        at("worker", "c", "removing"),
    ]
    assert mode_of_instance(seen, {}).name == SINGLE
    assert "add" in {one.kind for one in mode_of_instance(seen, {"mode": SINGLE}).closed}
    assert mode_of_instance([*seen, at("worker", "d", "ready")], {}).name == MULTI


def test_the_last_worker_stays_even_in_parallel_removals_unless_its_host_is_gone() -> None:
    head, first, last = member("controller", "a"), member("worker", "b"), member("worker", "c")
    require_worker([head, first, last], without=[first])
    with pytest.raises(Failed) as refused:
        require_worker([head, replace(first, status="removing"), last], without=[last])
    assert (refused.value.failure.code, "decommission" in refused.value.failure.next_step) == ("last_worker", True)
    gone = replace(last, host_gone=True)
    require_worker([head, gone], without=[gone])


@pytest.mark.parametrize(
    ("workers", "wanted", "mode", "closed"),
    [
        ("a", None, SINGLE, {"remove worker", "replace worker"}),
        ("a", SINGLE, SINGLE, {"remove worker", "replace worker", "add worker"}),
        ("b", SPLIT, SPLIT, {"remove worker"}),
        ("bc", None, SPLIT, set()),
        ("ab", MULTI, MULTI, set()),
    ],
)
def test_every_mode_names_its_closed_operations_and_what_to_do_instead(
    workers: str, wanted: str | None, mode: str, closed: set[str]
) -> None:
    found = describe_mode([("controller", "a"), *(("worker", place) for place in workers)], wanted)
    assert found.name == mode
    always = {f"{kind} controller" for kind in ("drain", "remove", "replace")}
    assert {f"{one.kind} {one.component_key}" for one in found.closed} == always | closed
    assert all(one.message.endswith(".") and one.next_step.endswith(".") for one in found.closed)


def test_a_placement_of_another_mode_than_requested_is_refused_with_a_next_step() -> None:
    with pytest.raises(Failed) as refused:
        require_mode(SINGLE, mode_of(placements_of([member("controller", "a"), member("worker", "b")])))
    assert (refused.value.failure.code, refused.value.failure.retryable) == ("mode_mismatch", False)
    assert "share the only allocation" in refused.value.failure.next_step


def test_inputs_have_defaults() -> None:
    inputs = Inputs.of({})
    assert [(one.name, one.default) for one in inputs.partitions] == [("main", True)]
    assert [(one.name, one.uid) for one in inputs.users] == [("researcher", FIRST_UID)]
    assert (inputs.accounting, inputs.packages, inputs.mode) == (False, "artifact", None)


def test_one_partition_is_the_default_and_accounts_are_those_of_the_users() -> None:
    users = [
        {"name": "ann", "account": "vision"},
        {"name": "bob", "account": "text"},
        {"name": "cy", "account": "vision"},
    ]
    inputs = Inputs.of({"partitions": [{"name": "a"}, {"name": "b", "default": True}], "users": users})
    assert [one.name for one in inputs.partitions if one.default] == ["b"]
    assert inputs.accounts == ("vision", "text")
    assert len({one.uid for one in inputs.users}) == 3


@pytest.mark.parametrize(
    ("account", "taken"), [("vision", True), ("rooty", True), ("root", False), (f"{PREFIX}training", False)]
)
def test_reserved_account_names_are_refused(account: str, taken: bool) -> None:
    inputs = yaml.safe_load(MANIFEST)["inputs"]
    assert jsonschema_rs.is_valid(inputs, {"users": [{"name": "ann", "account": account}]}) is taken


def test_a_duplicate_name_is_refused() -> None:
    with pytest.raises(Failed, match="named twice"):
        Inputs.of({"users": [{"name": "ann"}, {"name": "ann"}]})


def nodes(**gpus: int) -> list[Node]:
    return [Node(name, "idle", frozenset(), "", count) for name, count in gpus.items()]


def test_only_jobs_that_could_run_nowhere_else_are_stranded() -> None:
    anywhere, only_two = Job("7", "PENDING", frozenset(), True), Job("8", "PENDING", frozenset({"w2"}), True)
    assert stranded_by([anywhere, only_two], nodes(w1=8, w2=8), leaving={"w2"}) == [only_two]
    assert stranded_by([anywhere, only_two], nodes(w2=8), leaving={"w2"}) == [anywhere, only_two]
    assert stranded_by([anywhere], nodes(w1=8, w2=8), leaving={"w2"}) == []


def test_jobs_that_need_more_nodes_or_gpus_than_remain_are_stranded_unless_they_never_fitted() -> None:
    both, wide = Job("1", "PENDING", frozenset(), True, nodes=2), Job("2", "PENDING", frozenset(), True, gpus=8)
    never = Job("3", "PENDING", frozenset(), True, nodes=9)
    assert stranded_by([both, wide, never], nodes(w1=2, w2=8), leaving={"w2"}) == [both, wide]
    assert stranded_by([both, wide, never], nodes(w1=8, w2=8, w3=8), leaving={"w2"}) == []


@pytest.mark.parametrize(
    ("gres", "gpus"),
    [
        ("gpu:h100:8", 8),
        ("gres:gpu:2", 2),
        ("gres/gpu:4", 4),
        ("gpu:8(S:0-1)", 8),
        ("N/A", 0),
        ("", 0),
        ("gpu:a100:2,gpu:h100:1", 3),
    ],
)
def test_gpus_are_read_as_slurm_writes_them(gres: str, gpus: int) -> None:
    assert count_gpus(gres) == gpus


def test_the_job_policy_comes_from_the_request() -> None:
    assert JobPolicy.of({}, "wait") == JobPolicy("wait", 300, "refuse")
    assert JobPolicy.of({"jobs": "deadline", "grace_seconds": 5, "pending": "cancel"}, "wait") == JobPolicy(
        "deadline", 5, "cancel"
    )


def _watched(component: str, ordinal: int, status: str = "ready") -> InstanceMember:
    return InstanceMember(id=f"mem_{ordinal}", status=status, component_key=component, ordinal=ordinal)


def _status(**nodes: dict[str, Any]) -> health.Status:
    listed = [{"name": name, "state": "idle", "state_flags": [], **what} for name, what in nodes.items()]
    return health.parse_status({"version": "22.05.8", "answers": True, "nodes": listed, "jobs": {}})


MEMBERS = [_watched("controller", 0), _watched("worker", 1), _watched("worker", 2)]


def test_a_cluster_that_answers_with_all_its_nodes_is_healthy() -> None:
    status = _status(w1={}, w2={"state": "mixed", "state_flags": ["DYNAMIC_NORM"]})
    judged = health.assess_health(MEMBERS, status)
    assert (judged.status, judged.reasons) == ("healthy", [])
    assert [one["status"] for one in judged.members] == ["ready"] * 3


def test_a_node_that_is_down_degrades_its_member_with_a_reason() -> None:
    status = _status(w1={}, w2={"state": "down", "state_flags": ["NOT_RESPONDING"], "reason": "Not responding"})
    judged = health.assess_health(MEMBERS, status)
    assert judged.status == "degraded"
    assert judged.reasons[0]["message"] == "w2 is down NOT_RESPONDING Not responding"
    assert judged.members[2]["status"] == "degraded"


def test_a_missing_node_degrades_its_member_and_a_drained_one_does_not() -> None:
    judged = health.assess_health(MEMBERS, _status(w1={}))
    assert judged.reasons[0]["message"] == "w2 is not in the cluster"
    drained = [MEMBERS[0], MEMBERS[1], _watched("worker", 2, "drained")]
    assert health.assess_health(drained, _status(w1={}, w2={"state_flags": ["DRAIN"]})).status == "healthy"


@pytest.mark.parametrize("status", ["10.0.0.1:6821 does not answer: OSError", health.parse_status({"answers": False})])
def test_without_its_controller_a_cluster_is_unhealthy_and_workers_are_not_reported(status: Any) -> None:
    judged = health.assess_health(MEMBERS, status)
    assert judged.status == "unhealthy"
    assert [one["member_id"] for one in judged.members] == ["mem_0"]


def test_the_usage_of_accounts_is_reported_only_when_it_has_grown() -> None:
    used = {"vision": {"jobs": 1, "job_seconds": 60, "gpu_seconds": 120}}
    status = health.parse_status({"answers": True, "usage": used})
    assert health.updated_runtime({"cluster": "lab"}, status) == {"cluster": "lab", "usage": used}
    assert health.updated_runtime({"cluster": "lab", "usage": used}, status) is None
    assert health.updated_runtime({}, "silent") is None
    assert health.updated_runtime({}, health.parse_status({"answers": True})) is None


@pytest.mark.parametrize(
    ("state", "flags", "usable"),
    [("mixed", [], True), ("idle", ["DYNAMIC_NORM"], True), ("idle", ["DRAIN"], False), ("down", [], False)],
)
def test_a_node_is_usable_when_it_answers_and_takes_jobs(state: str, flags: list[str], usable: bool) -> None:
    assert parse_node({"name": "w1", "state": state, "state_flags": flags}).usable is usable


def test_the_access_bundle_has_commands_with_partition_and_account_and_no_secret() -> None:
    inputs = Inputs.of({"accounting": True, "users": [{"name": "ann", "account": "vision"}]})
    bundle = access_bundle(inputs, LoginHost("alc_1", "10.0.0.1", "gpu"), "train")
    text = json.dumps(bundle)
    assert "srun --partition=main --account=vision hostname" in text
    assert "Host slurm-train" in str(bundle["ssh_config"])
    assert "key" not in bundle
    assert len(text) < 16_000


def test_everything_that_the_app_leaves_on_a_host_is_in_its_footprint() -> None:
    footprint = MANIFEST.partition("footprint:")[2].partition("probes:")[0]
    for unit in (*layout.UNITS, layout.STATUS_UNIT, *layout.PACKAGED_UNITS):
        assert f"- {unit}\n" in footprint
    for path in (*layout.UNIT_PATHS, layout.FOLDER, layout.LOGS, layout.SPOOL, layout.STAMPS, *layout.CONFIG_PATHS):
        assert f"- {path}\n" in footprint
    for port in (layout.CONTROLLER_PORT, layout.WORKER_PORT, layout.ACCOUNTING_PORT, layout.STATUS_PORT):
        assert f"port: {port}," in footprint
    for process in layout.PROCESSES:
        assert process in footprint


@pytest.mark.parametrize(
    ("listed", "names"),
    [
        ("", set()),
        ("w3", {"w3"}),
        ("w1,w12", {"w1", "w12"}),
        ("w[1-3,7],w12", {"w1", "w2", "w3", "w7", "w12"}),
        ("n[08-10]", {"n08", "n09", "n10"}),
        ("a1,w[4]", {"a1", "w4"}),
    ],
)
def test_a_list_of_nodes_is_read_as_slurm_writes_it(listed: str, names: set[str]) -> None:
    assert expand_hostlist(listed) == names


def test_a_job_without_a_command_is_not_requeued() -> None:
    assert parse_job("7|RUNNING||1|N/A|") == Job("7", "RUNNING", frozenset(), False)
    wide = Job("8", "PENDING", frozenset({"w1", "w2"}), True, nodes=2, gpus=4)
    assert parse_job("8|PENDING|w[1-2]|2-3|gres:gpu:4|/home/a/run.sh a|b") == wide
