"""Status and health of instances and members as pure functions of what happened and what is there."""

from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.instances.machine import (
    IN_BETWEEN,
    TRANSITIONS,
    InstanceView,
    MemberView,
    Report,
    derive_health,
    member_broken,
    member_done,
    possible_verbs,
    status_asked,
    status_begun,
    status_broken,
    status_done,
)
from gpuaas_server.kernel.operation_kinds import INSTANCE_KINDS, KINDS, MEMBER_KINDS

STATES = sorted(TRANSITIONS)
MEMBER_STATES = ["pending", "joining", "ready", "degraded", "draining", "drained", "removing", "failed"]


def view(**given: object) -> InstanceView:
    members = [MemberView("mem_1", "head", "ready"), MemberView("mem_2", "node", "ready")]
    base = {"status": "running", "busy": False, "failure": None, "minimum": {"head": 1, "node": 1}, "members": members}
    return InstanceView(**{**base, **given})  # type: ignore[arg-type]


def _legal(before: str, after: str) -> bool:
    return after == before or after in TRANSITIONS[before]


@given(st.sampled_from(STATES), st.booleans(), st.booleans(), st.booleans(), st.booleans())
def test_every_verb_that_is_offered_goes_through_legal_states_whatever_becomes_of_it(
    status: str, deployed: bool, back: bool, begun: bool, succeeds: bool
) -> None:
    if deployed and status == "created":
        return
    for kind in possible_verbs(status, deployed, False, False, back):
        asked = status_asked(kind, status)
        assert _legal(status, asked)
        during = status_begun(kind, asked) if begun else asked
        assert _legal(asked, during)
        if begun and succeeds:
            assert _legal(during, status_done(kind))
        else:
            after = status_broken(kind, status, begun)
            assert _legal(during, after)
            assert after in ("running", "stopped", "failed")  # in between is no place to stay


def test_nothing_is_offered_while_something_works_or_after_the_end() -> None:
    for status in STATES:
        assert possible_verbs(status, True, gone=True, busy=False, can_roll_back=True) == []
        assert possible_verbs(status, True, gone=False, busy=True, can_roll_back=True) == []


def test_every_settled_state_has_a_way_on() -> None:
    for status in ("running", "stopped", "failed"):
        assert possible_verbs(status, True, False, False, False)
    assert possible_verbs("failed", False, False, False, False) == ["deploy", "decommission"]


@given(st.sampled_from(INSTANCE_KINDS + MEMBER_KINDS), st.sampled_from(MEMBER_STATES))
def test_no_member_is_left_in_between_when_an_operation_has_ended(kind: str, status: str) -> None:
    begun = KINDS[kind].member_begun or status
    assert member_done(kind, begun) not in IN_BETWEEN
    assert member_broken(kind, begun) not in IN_BETWEEN


def test_a_failed_member_can_be_recovered_replaced_or_removed() -> None:
    assert {kind for kind in MEMBER_KINDS if "failed" in KINDS[kind].member_from} == {"recover", "replace", "remove"}


def test_a_running_instance_with_its_members_is_healthy() -> None:
    assert derive_health(view()).status == "healthy"
    assert derive_health(view(report=Report("healthy"))).status == "healthy"


def test_the_worst_that_is_known_decides_and_every_reason_is_named() -> None:
    members = [MemberView("mem_1", "head", "ready"), MemberView("mem_2", "node", "failed", "No route.")]
    health = derive_health(view(members=members, report=Report("degraded", [{"code": "slow", "message": "Slow."}])))
    assert health.status == "unhealthy"
    assert [reason["code"] for reason in health.reasons] == ["too_few_members", "member_failed", "slow"]


def test_the_same_reason_of_several_members_is_listed_once_with_all_of_them() -> None:
    members = [MemberView(f"mem_{n}", "node", "failed", "No route.") for n in range(3)]
    health = derive_health(view(status="failed", failure="no_route", members=members))
    assert [reason["code"] for reason in health.reasons] == ["no_route", "member_failed"], "the failure says the rest"
    assert health.reasons[1]["member_ids"] == ["mem_0", "mem_1", "mem_2"]


def test_silence_after_a_report_is_not_health() -> None:
    health = derive_health(view(report=Report("healthy", stale=True)))
    assert (health.status, health.reasons[0]["code"]) == ("unknown", "health_not_reported")


def test_what_is_flagged_degrades() -> None:
    health = derive_health(view(flags=[{"code": "artifact_revoked", "message": "Not trusted."}]))
    assert (health.status, health.reasons[0]["code"]) == ("degraded", "artifact_revoked")


@given(
    st.sampled_from(STATES),
    st.booleans(),
    st.lists(st.tuples(st.sampled_from(["head", "node"]), st.sampled_from(MEMBER_STATES)), max_size=6),
    st.one_of(st.none(), st.sampled_from(["unknown", "progressing", "healthy", "degraded", "unhealthy"])),
)
def test_healthy_is_said_only_of_what_runs_with_all_that_it_needs(
    status: str, busy: bool, members: list[tuple[str, str]], reported: str | None
) -> None:
    views = [MemberView(f"mem_{n}", key, state) for n, (key, state) in enumerate(members)]
    report = None if reported is None else Report(reported)
    health = derive_health(view(status=status, busy=busy, members=views, report=report))
    if health.status == "healthy":
        assert (status, busy) == ("running", False)
        assert not any(state in ("failed", "degraded") for _, state in members)
        assert {"head", "node"} <= {key for key, state in members if state == "ready"}
        assert reported in (None, "healthy")
    elif reported is None:
        assert health.reasons
