"""What a host's evidence proves, and what it does not."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.receipts.compare import CHECKS, InspectionRequest, compare
from gpuaas_server.receipts.footprint import digest, normalize

FOOTPRINT = normalize({"units": ["echo.service"], "ports": [7777]})
ASKED = InspectionRequest("rcp_1", "alc_1", "gone", FOOTPRINT, digest(FOOTPRINT), "b" * 64)
EVIDENCE = {"baseline_sha256": "b" * 64}


def answer(depth: str = "gone", **checks: dict[str, object]) -> dict[str, Any]:
    def told(name: str) -> dict[str, object]:
        empty = {"found": [], "left": 0, "not_in_footprint": [], "examined": 3, "problem": ""}
        return {"name": name, "entries": FOOTPRINT.get(name, []), **empty, **checks.get(name, {})}

    head = {"receipt_id": "rcp_1", "allocation_id": "alc_1", "depth": depth, "footprint_sha256": digest(FOOTPRINT)}
    return {**head, "looks": 1, "checks": [told(name) for name in CHECKS[depth]]}


def left(item: str, known: bool = False) -> dict[str, object]:
    return {"found": [{"item": item, "why": "echo.service", "known": known}], "left": int(not known)}


def test_all_absent_is_clean() -> None:
    found = compare(ASKED, answer(), EVIDENCE)
    assert (found.status, found.code) == ("clean", None)
    assert {check.verdict for check in found.checks} == {"absent"}


def test_what_is_left_is_named_with_its_check() -> None:
    found = compare(ASKED, answer(units=left("echo.service is loaded"), ports=left("tcp 0.0.0.0:7777")), EVIDENCE)
    assert (found.status, found.code) == ("left", "teardown_incomplete")
    assert found.message == "Left on the host: units (1), ports (1)."
    assert next(check for check in found.checks if check.name == "units").found[0].item == "echo.service is loaded"


def test_what_was_there_before_is_no_leftover() -> None:
    assert compare(ASKED, answer(units=left("ssh.service is loaded", known=True)), EVIDENCE).status == "clean"


def test_what_is_only_noted_stays_a_note() -> None:
    found = compare(ASKED, answer(ports={"not_in_footprint": ["tcp 0.0.0.0:8888"]}), EVIDENCE)
    assert found.status == "clean"
    assert next(check for check in found.checks if check.name == "ports").not_in_footprint == ["tcp 0.0.0.0:8888"]


def test_a_check_that_could_not_look_is_not_clean_and_a_leftover_weighs_more() -> None:
    found = compare(ASKED, answer(paths={"problem": "could not look: EIO"}), EVIDENCE)
    assert (found.status, found.code) == ("unseen", "inspection_incomplete")
    both = compare(ASKED, answer(paths={"problem": "could not look: EIO"}, units=left("echo.service")), EVIDENCE)
    assert both.code == "teardown_incomplete"


def test_a_cut_list_counts_whole() -> None:
    found = compare(ASKED, answer(processes={"left": 300}), EVIDENCE)
    assert found.status == "left"
    assert "processes (300)" in found.message


@pytest.mark.parametrize(
    "spoilt",
    [
        answer() | {"receipt_id": "rcp_2"},
        answer() | {"allocation_id": "alc_2"},
        answer() | {"footprint_sha256": digest(normalize({}))},
        answer("stopped"),  # less than was asked
        answer("stopped") | {"depth": "gone"},
        answer() | {"checks": None},
        answer() | {"checks": []},
        answer() | {"checks": [*answer()["checks"], answer()["checks"][0]]},
        answer(units={"entries": ["other.service"]}),
        answer(units={"found": [{"item": "x", "why": "y"}]}),
        answer(units={"left": -1}),
        answer(units={"left": True}),
        answer(units={"found": "none"}),
        {},
    ],
)
def test_an_answer_to_another_question_proves_nothing(spoilt: dict[str, object]) -> None:
    found = compare(ASKED, spoilt, EVIDENCE)
    assert (found.status, found.code) == ("unseen", "evidence_mismatch")


def test_another_baseline_proves_nothing_but_what_was_seen_is_kept() -> None:
    for evidence in ({}, {"baseline_sha256": "c" * 64}):
        found = compare(ASKED, answer(), evidence)
        assert (found.status, found.code) == ("unseen", "baseline_mismatch")
        assert found.checks


def test_what_a_host_says_is_kept_as_plain_text() -> None:
    found = compare(ASKED, answer(units=left("x\x1b[2Jy" + "z" * 999)), EVIDENCE)
    item = next(check for check in found.checks if check.name == "units").found[0].item
    assert item.startswith("x?[2Jyz")
    assert len(item) == 300


json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)


@given(
    st.sampled_from(CHECKS["gone"]),
    st.dictionaries(st.sampled_from(["found", "left", "not_in_footprint", "problem"]), json),
)
def test_no_answer_of_a_host_breaks_the_comparison_and_only_empty_ones_are_clean(
    name: str, changes: dict[str, object]
) -> None:
    found = compare(ASKED, answer(**{name: changes}), EVIDENCE)
    assert found.status in ("clean", "left", "unseen")
    if found.status == "clean":
        assert all(one.known for check in found.checks for one in check.found)
        assert not any(check.problem or check.left for check in found.checks)
