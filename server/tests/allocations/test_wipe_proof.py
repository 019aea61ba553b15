"""What a verification proves, decided by the platform from what the host reports."""

from dataclasses import replace

import pytest

from gpuaas_server.allocations.wipe_proof import (
    BEFORE_GRADES,
    CHECKS_OF_HOST,
    NOT_COVERED_OF_BOTH,
    NOT_COVERED_OF_HOST,
    RESTART,
    Requirements,
    Verdict,
    Verification,
    judge_wipe,
)
from gpuaas_server.kernel.wipe_grades import GRADES, required_grade

NAMES = sorted(CHECKS_OF_HOST | {RESTART})
EXPECTED = {"configuration_sha256": "c", "trust_sha256": "t", "agent_sha256": "a"}
REBOOTED = Requirements("rebooted", frozenset(), "boot-1")


def check(name: str, status: str = "clean") -> dict[str, object]:
    found = ["/etc/x"] if status == "found" else []
    return {"name": name, "status": status, "clean": status == "clean", "found": found, "examined": 1}


def verification(
    grade: str = "rebooted", boot_id: str = "boot-2", evidence: dict[str, object] | None = None, **statuses: str
) -> Verification:
    checks = [check(name, statuses.get(name, "clean")) for name in NAMES if statuses.get(name) != "absent"]
    clean = "found" not in statuses.values()
    seen = {"boot_id": boot_id, **EXPECTED, **(evidence or {})}
    asked = {"grade": "rebooted", "expected": EXPECTED}
    return Verification("baremetal", asked, {"clean": clean, "grade": grade, "checks": checks}, seen)


def test_a_clean_host_after_a_restart_is_rebooted() -> None:
    assert judge_wipe(REBOOTED, verification()) == Verdict("rebooted", "rebooted")


@pytest.mark.parametrize(
    "told",
    [
        verification(boot_id="boot-1"),
        verification(grade="inspected"),
        verification(restart="not_examined"),
        verification(restart="absent"),
        replace(verification(), evidence=EXPECTED),
    ],
    ids=["same boot id", "says inspected", "did not look", "no such check", "no boot id"],
)
def test_a_restart_that_the_platform_can_not_see_is_none(told: Verification) -> None:
    verdict = judge_wipe(REBOOTED, told)
    assert (verdict.code, verdict.grade) == ("wipe_grade_not_reached", "inspected")
    assert judge_wipe(replace(REBOOTED, grade="inspected"), told).code is None


def test_a_restart_counts_only_against_a_boot_id_on_record() -> None:
    assert judge_wipe(replace(REBOOTED, boot_id=None), verification()).code == "wipe_grade_not_reached"


@pytest.mark.parametrize("former", [frozenset({"boot-0", "boot-2"}), None], ids=["reported", "too many"])
def test_a_boot_that_the_host_had_before_the_wipe_is_no_restart(former: frozenset[str] | None) -> None:
    verdict = judge_wipe(replace(REBOOTED, former_boot_ids=former), verification())
    assert (verdict.code, verdict.grade) == ("wipe_grade_not_reached", "inspected")
    assert judge_wipe(replace(REBOOTED, former_boot_ids=frozenset({"boot-0"})), verification()).code is None


def test_requirements_are_read_as_they_were_stored() -> None:
    stored: dict[str, object] = {"grade": "rebooted", "accept_not_examined": [], "boot_id": "boot-1"}
    assert Requirements.read(stored) == REBOOTED
    sent = {**stored, "former_boot_ids": ["boot-0"], "wipe_id": "5a"}
    assert Requirements.read(sent) == replace(REBOOTED, former_boot_ids=frozenset({"boot-0"}), wipe_id="5a")
    assert Requirements.read({**stored, "former_boot_ids": None}).former_boot_ids is None


@pytest.mark.parametrize("name", NAMES)
def test_one_check_that_found_something_proves_nothing(name: str) -> None:
    told = verification(**{name: "found"})
    lying = replace(told, result={**told.result, "clean": True})
    for one in (told, lying):
        verdict = judge_wipe(REBOOTED, one)
        assert (verdict.code, verdict.grade) == ("wipe_not_proven", None)
        assert name in verdict.message


@pytest.mark.parametrize("name", [name for name in NAMES if name != "restart"])
def test_a_check_that_is_missing_proves_nothing(name: str) -> None:
    verdict = judge_wipe(REBOOTED, verification(**{name: "absent"}))
    assert (verdict.code, verdict.grade) == ("wipe_not_proven", None)
    assert name in verdict.message


def test_a_check_that_did_not_look_counts_only_where_the_sku_accepts_that() -> None:
    told = verification(drives="not_examined")
    verdict = judge_wipe(REBOOTED, told)
    assert (verdict.code, verdict.not_examined) == ("wipe_not_examined", ("drives",))
    accepting = replace(REBOOTED, accept_not_examined=frozenset({"drives"}))
    assert judge_wipe(accepting, told) == Verdict("rebooted", "rebooted", ("drives",))
    both = verification(drives="not_examined", kernel="not_examined")
    assert judge_wipe(accepting, both).code == "wipe_not_examined"


@pytest.mark.parametrize("name", EXPECTED)
def test_a_digest_that_the_platform_does_not_expect_proves_nothing(name: str) -> None:
    for reported in ("other", None, 7):
        verdict = judge_wipe(REBOOTED, verification(evidence={name: reported}))
        assert (verdict.code, verdict.grade) == ("wipe_not_proven", None)
        assert name in verdict.message


@pytest.mark.parametrize(
    "checks",
    [None, "all fine", [], ["clean"], [{"name": "files", "status": "spotless", "clean": True}], [{"clean": True}]],
)
def test_checks_that_can_not_be_read_prove_nothing(checks: object) -> None:
    told = verification()
    assert judge_wipe(REBOOTED, replace(told, result={**told.result, "checks": checks})).code == "wipe_not_proven"


def test_a_check_that_is_clean_and_found_something_is_not_clean() -> None:
    told = verification()
    listed = [{**check("files"), "found": ["/etc/x"]}, *(check(name) for name in NAMES if name != "files")]
    assert judge_wipe(REBOOTED, replace(told, result={**told.result, "checks": listed})).code == "wipe_not_proven"


def test_an_older_agent_proves_what_it_proved_before_and_is_told_apart() -> None:
    older = Verification("baremetal", {"expected": dict.fromkeys(EXPECTED)}, {"clean": True, "checks": []}, {})
    assert judge_wipe(BEFORE_GRADES, older) == Verdict("inspected", "inspected")
    verdict = judge_wipe(REBOOTED, older)
    assert (verdict.code, verdict.grade) == ("wipe_agent_too_old", "inspected")


def test_a_host_whose_agent_is_on_record_does_not_become_an_older_one() -> None:
    pretending = Verification("baremetal", {"expected": EXPECTED}, {"clean": True, "checks": []}, {})
    assert judge_wipe(BEFORE_GRADES, pretending).code == "wipe_not_proven"


@pytest.mark.parametrize("older", [True, False])
def test_drives_that_nobody_looked_at_are_not_clean_whatever_the_host_calls_them(older: bool) -> None:
    """An agent of an older release obeys a file on its host, and says `clean: true, examined: 0`."""
    unseen: dict[str, object] = {"name": "drives", "clean": True, "found": [], "examined": 0}
    others = [check(name) for name in NAMES if name != "drives"]
    result: dict[str, object] = {"clean": True, "checks": [*others, unseen]} | ({} if older else {"grade": "inspected"})
    asked: dict[str, object] = {"slots": [{"slot_index": 0, "nvme_device": "/dev/nvme0n1"}]}
    told = Verification("baremetal", asked, result, {"boot_id": "boot-1"})
    verdict = judge_wipe(Requirements("inspected"), told)
    assert (verdict.code, verdict.not_examined) == ("wipe_not_examined", ("drives",))
    accepting = Requirements("inspected", frozenset({"drives"}))
    assert judge_wipe(accepting, told) == Verdict("inspected", "inspected", ("drives",))
    without = replace(told, asked={"slots": [{"slot_index": 0, "nvme_device": None}]})
    assert judge_wipe(Requirements("inspected"), without) == Verdict("inspected", "inspected")


def test_an_older_agent_that_contradicts_itself_proves_nothing() -> None:
    told = Verification("baremetal", {}, {"clean": True, "checks": [check("files", "found")]}, {})
    assert judge_wipe(Requirements("inspected"), told).code == "wipe_not_proven"


def test_every_verdict_says_what_no_check_reads() -> None:
    for told in (verification(), verification(files="found")):
        document = judge_wipe(REBOOTED, told).document("baremetal")
        assert document["not_covered"] == [*NOT_COVERED_OF_BOTH, *NOT_COVERED_OF_HOST]
        assert judge_wipe(REBOOTED, told).document("gpu_slice")["not_covered"] == list(NOT_COVERED_OF_BOTH)


def test_a_slice_needs_its_own_checks_and_no_restart() -> None:
    checks = [check(name) for name in ("marker", "files", "processes", "mounts", "units", "drives", "slice")]
    told = Verification("gpu_slice", {}, {"clean": True, "grade": "inspected", "checks": checks}, {})
    assert judge_wipe(BEFORE_GRADES, told) == Verdict("inspected", "inspected")
    for absent in checks:
        left = [one for one in checks if one is not absent]
        assert judge_wipe(BEFORE_GRADES, replace(told, result={**told.result, "checks": left})).code is not None


def test_the_higher_of_both_grades_is_required_of_whole_hosts_only() -> None:
    assert required_grade("baremetal", "inspected", "rebooted") == "rebooted"
    assert required_grade("baremetal", "rebooted", "inspected") == "rebooted"
    assert required_grade("baremetal", "inspected", "inspected") == "inspected"
    assert required_grade("gpu_slice", "inspected", "rebooted") == "inspected"
    assert sorted(GRADES) == list(GRADES), "the database compares them by name"
