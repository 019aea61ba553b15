"""Stages and canaries, as pure functions: no move but those of the table, and every reason named."""

from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.artifacts.stages import (
    TRANSITIONS,
    Launch,
    PromotionFacts,
    Refusal,
    Stage,
    Trust,
    in_canary,
    launch_refusals,
    move_refusals,
)

DIGEST = "sha256:" + "ab" * 32
PASSED = {("lint", "platform"): True, ("smoke", "publisher"): True}
KINDS, SOURCES = ("lint", "smoke"), ("platform", "publisher", "development")
stages, trusts = st.sampled_from(Stage), st.sampled_from(Trust)
outcomes = st.dictionaries(st.tuples(st.sampled_from(KINDS), st.sampled_from(SOURCES)), st.booleans())
promotions = st.builds(
    PromotionFacts,
    stages,
    trusts,
    st.booleans(),
    outcomes,
    st.booleans(),
    st.booleans(),
    st.integers(0, 3),
    st.integers(0, 3),
)


def codes(refusals: list[Refusal]) -> set[str]:
    return {one.code for one in refusals}


@given(promotions, stages, st.none() | st.integers(1, 100))
def test_only_moves_of_the_table_are_made_and_only_with_their_conditions(
    facts: PromotionFacts, wanted: Stage, percent: int | None
) -> None:
    if move_refusals(facts, wanted, percent):
        return
    assert wanted in TRANSITIONS[facts.stage]
    assert (percent is not None) == (wanted is Stage.CANARY)
    if wanted is Stage.STAGED and facts.stage is Stage.DRAFT:
        counted = {key: passed for key, passed in facts.evidence.items() if key[1] != "development"}
        assert all(counted.values())
        assert ("lint", "platform") in counted
        assert ("smoke", "platform") in counted or (("smoke", "publisher") in counted and not facts.needs_smoke_launch)
    if wanted in (Stage.CANARY, Stage.ACTIVE):
        assert facts.trust not in (Trust.REVOKED, Trust.FAILED)
        assert facts.trust is Trust.VERIFIED or not facts.require_signature
    if wanted is Stage.RETIRED:
        assert facts.live == 0
    if wanted is Stage.DEPRECATED:
        assert facts.active_versions == 0


@given(stages, trusts)
def test_every_stage_but_the_last_has_a_way_out_whatever_the_trust(stage: Stage, trust: Trust) -> None:
    facts = PromotionFacts(stage, trust, True, PASSED)
    ways = [wanted for wanted in Stage if not move_refusals(facts, wanted, 10 if wanted is Stage.CANARY else None)]
    assert bool(ways) == (stage is not Stage.RETIRED)


def test_a_failed_canary_goes_back_even_when_the_artifact_was_revoked_meanwhile() -> None:
    assert move_refusals(PromotionFacts(Stage.CANARY, Trust.REVOKED, True, {}), Stage.STAGED, None) == []


def test_all_missing_evidence_is_named_at_once() -> None:
    refusals = move_refusals(
        PromotionFacts(Stage.DRAFT, Trust.REVOKED, False, {("smoke", "publisher"): False}), Stage.STAGED, None
    )
    assert [one.code for one in refusals] == ["artifact_revoked", "evidence_required", "evidence_required"]


def test_what_is_in_use_is_neither_deprecated_nor_retired() -> None:
    active = PromotionFacts(Stage.ACTIVE, Trust.VERIFIED, False, {}, active_versions=2)
    assert codes(move_refusals(active, Stage.DEPRECATED, None)) == {"artifact_in_use"}
    deprecated = PromotionFacts(Stage.DEPRECATED, Trust.VERIFIED, False, {}, live=1)
    assert codes(move_refusals(deprecated, Stage.RETIRED, None)) == {"artifact_in_use"}


@given(st.text(min_size=1, max_size=30), st.integers(0, 99))
def test_a_larger_canary_keeps_all_projects_of_the_smaller_one(project: str, percent: int) -> None:
    assert in_canary(project, DIGEST, percent + 1) or not in_canary(project, DIGEST, percent)
    assert in_canary(project, DIGEST, 100)
    assert not in_canary(project, DIGEST, 0)


def test_a_canary_is_for_about_its_share_and_for_others_each_time() -> None:
    projects = [f"prj_{number}" for number in range(5000)]
    chosen = {one for one in projects if in_canary(one, DIGEST, 20)}
    assert 0.17 < len(chosen) / len(projects) < 0.23
    other = {one for one in projects if in_canary(one, "sha256:" + "cd" * 32, 20)}
    assert 0.1 < len(chosen & other) / len(chosen) < 0.3


KEY, OTHER = "sha256:key", "sha256:other"


def launch(**more: object) -> Launch:
    fields: dict[str, object] = {
        "stage": Stage.ACTIVE,
        "trust": Trust.VERIFIED,
        "signed_by": frozenset({KEY}),
        "canary_percent": 0,
        "require_signature": True,
        "allowed_keys": frozenset({KEY}),
        "revoked_keys": frozenset(),
    }
    return Launch(**(fields | more))  # type: ignore[arg-type]


def test_a_launch_is_refused_for_every_reason_that_holds() -> None:
    assert launch_refusals(launch(), "prj_a", DIGEST) == []
    revoked = launch(trust=Trust.REVOKED, stage=Stage.DEPRECATED)
    assert codes(launch_refusals(revoked, "prj_a", DIGEST)) == {"artifact_revoked", "artifact_not_active"}


def test_the_launching_tenants_own_keys_decide() -> None:
    foreign = launch(allowed_keys=frozenset({OTHER}))
    assert codes(launch_refusals(foreign, "prj_a", DIGEST)) == {"artifact_untrusted"}
    relaxed = launch(allowed_keys=frozenset(), require_signature=False)
    assert launch_refusals(relaxed, "prj_a", DIGEST) == []
    distrusted = launch(allowed_keys=frozenset(), revoked_keys=frozenset({KEY}), require_signature=False)
    assert codes(launch_refusals(distrusted, "prj_a", DIGEST)) == {"artifact_untrusted"}


@given(st.integers(1, 100))
def test_outside_the_canary_a_launch_is_refused(percent: int) -> None:
    refused = codes(launch_refusals(launch(stage=Stage.CANARY, canary_percent=percent), "prj_a", DIGEST))
    assert refused == (set() if in_canary("prj_a", DIGEST, percent) else {"not_in_canary"})
