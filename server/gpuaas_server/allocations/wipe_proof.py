"""Decides what the verification of a wipe proves. The host reports; the platform compares and decides. Pure."""

from collections.abc import Mapping
from dataclasses import field

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.wipe_grades import INSPECTED, REBOOTED, WipeGrade, rank

RESTART = "restart"
DRIVES = "drives"
# What must have been reported by an agent that states a grade; a check that is missing did not look.
CHECKS_OF_SLICE = frozenset({"marker", "files", "processes", "mounts", "units", "drives", "slice"})
CHECKS_OF_HOST = frozenset(
    {"marker", "files", "users", "processes", "ports", "authorized_keys", "crontabs", "mounts", "units", "drives"}
    | {"agent_state", "configuration", "trust", "agent_program", "kernel"}
)
# What no check reads, at no grade below reimaged: said with every verdict, because a clean verdict is not about it.
NOT_COVERED_OF_BOTH = (
    "free space and swap of the host",
    "GPU memory and GPU firmware",
    "firmware of the host, its drives, cards and management controller",
)
NOT_COVERED_OF_HOST = ("content of drives that are in no slot and not mounted", "boot sectors and boot variables")
_DIGESTS = ("configuration_sha256", "trust_sha256", "agent_sha256")


@dataclass(frozen=True, slots=True)
class Requirements:
    """Holds what a release has to prove, as it was when the release began."""

    grade: str = INSPECTED
    accept_not_examined: frozenset[str] = frozenset()
    boot_id: str | None = None
    # Boot ids that the host reported from the begin of the lease until the wipe was sent; None: too many to know them all.
    former_boot_ids: frozenset[str] | None = frozenset()
    wipe_id: str | None = None

    @classmethod
    def read(cls, stored: Mapping[str, object] | None) -> "Requirements":
        if stored is None:
            return BEFORE_GRADES
        accepted, boot_id, wipe_id = stored.get("accept_not_examined"), stored.get("boot_id"), stored.get("wipe_id")
        return cls(
            str(stored.get("grade")),
            frozenset(map(str, accepted if isinstance(accepted, list) else ())),
            boot_id if isinstance(boot_id, str) else None,
            _texts(stored.get("former_boot_ids", [])),
            wipe_id if isinstance(wipe_id, str) else None,
        )


def _texts(stored: object) -> frozenset[str] | None:
    return frozenset(map(str, stored)) if isinstance(stored, list) else None


# Of a release that began before there were grades.
BEFORE_GRADES = Requirements()


@dataclass(frozen=True, slots=True)
class StoredProof:
    """Holds what an allocation's stored evidence says about its wipe."""

    clean: bool
    grade: WipeGrade | None
    not_examined: list[str]

    @classmethod
    def read(cls, evidence: Mapping[str, object] | None) -> "StoredProof | None":
        if evidence is None:
            return None
        verdict = evidence.get("verdict")
        stored = verdict if isinstance(verdict, dict) else {}
        return cls(evidence.get("clean") is True, stored.get("grade"), list(stored.get("not_examined", ())))


@dataclass(frozen=True, slots=True)
class Verification:
    """A `verify_wipe` that the host answered: its order, its result, and its evidence."""

    shape: str
    asked: Mapping[str, object]
    result: Mapping[str, object]
    evidence: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The grade that was reached. `code` is None when it is proven as well as is required."""

    grade: str | None
    required: str
    not_examined: tuple[str, ...] = ()
    code: str | None = None
    message: str = ""

    def document(self, shape: str) -> dict[str, object]:
        return {
            "grade": self.grade,
            "required": self.required,
            "not_examined": list(self.not_examined),
            "not_covered": [*NOT_COVERED_OF_BOTH, *(NOT_COVERED_OF_HOST if shape == "baremetal" else ())],
        }


@dataclass(frozen=True, slots=True)
class _Checks:
    """The names of the checks, by their outcome."""

    clean: set[str] = field(default_factory=set)
    found: set[str] = field(default_factory=set)
    not_examined: set[str] = field(default_factory=set)

    @property
    def names(self) -> set[str]:
        return self.clean | self.found | self.not_examined


def judge_wipe(required: Requirements, reported: Verification) -> Verdict:
    if "grade" not in reported.result:
        return _judge_older_agent(required, reported)
    checks = _read_checks(reported)
    fault = _fault(reported, checks)
    if fault:
        return Verdict(None, required.grade, code="wipe_not_proven", message=fault)
    unseen = _unseen(checks)
    grade = _grade_reached(required, reported, checks)
    if refused := _refused_unseen(required, grade, unseen):
        return refused
    if rank(grade) < rank(required.grade):
        message = f"The wipe is proven as {grade}; {required.grade} is required. The host did not show a restart."
        return Verdict(grade, required.grade, unseen, "wipe_grade_not_reached", message)
    return Verdict(grade, required.grade, unseen)


def _judge_older_agent(required: Requirements, reported: Verification) -> Verdict:
    """Judge a result without a grade. A host whose agent could write a newer result before does not send an older one."""
    checks = _read_checks(reported)
    if reported.result.get("clean") is not True or checks.found:
        message = "The verification found traces of the allocation."
        return Verdict(None, required.grade, code="wipe_not_proven", message=message)
    if _expected(reported).get("agent_sha256") is not None:
        message = "The host answered like an agent of an older release than the one on record."
        return Verdict(None, required.grade, code="wipe_not_proven", message=message)
    unseen = _unseen(checks)
    if refused := _refused_unseen(required, INSPECTED, unseen):
        return refused
    if rank(required.grade) > rank(INSPECTED):
        message = f"The host's agent is an older release, which cannot prove {required.grade}."
        return Verdict(INSPECTED, required.grade, unseen, "wipe_agent_too_old", message)
    return Verdict(INSPECTED, required.grade, unseen)


def _unseen(checks: _Checks) -> tuple[str, ...]:
    return tuple(sorted(checks.not_examined - {RESTART}))


def _refused_unseen(required: Requirements, grade: str, unseen: tuple[str, ...]) -> Verdict | None:
    refused = [name for name in unseen if name not in required.accept_not_examined]
    if not refused:
        return None
    message = f"The verification did not look at {', '.join(refused)}, and the SKU does not accept that."
    return Verdict(grade, required.grade, unseen, "wipe_not_examined", message)


def _read_checks(reported: Verification) -> _Checks:
    """Sort the checks by their outcome. One that says neither clean nor not_examined has found something.

    An agent of an older release calls drives clean that it was told to keep and did not look at.
    """
    checks, listed = _Checks(), reported.result.get("checks")
    has_drives = _has_drives(reported)
    for entry in listed if isinstance(listed, list) else ():
        if not isinstance(entry, dict):
            checks.found.add("(unreadable)")
            continue
        status = entry.get("status", "clean" if entry.get("clean") is True else "found")
        name = str(entry.get("name"))
        looked = name != DRIVES or not has_drives or entry.get("examined") != 0
        clean = status == "clean" and entry.get("clean") is True and not entry.get("found")
        if clean and looked:
            checks.clean.add(name)
        elif clean or status == "not_examined":
            checks.not_examined.add(name)
        else:
            checks.found.add(name)
    return checks


def _has_drives(reported: Verification) -> bool:
    slots = reported.asked.get("slots")
    return any(
        isinstance(slot, dict) and slot.get("nvme_device") for slot in (slots if isinstance(slots, list) else ())
    )


def _fault(reported: Verification, checks: _Checks) -> str:
    """Return why nothing is proven, or an empty text."""
    if checks.found:
        return f"The verification found traces of the allocation: {', '.join(sorted(checks.found))}."
    if reported.result.get("clean") is not True:
        return "The verification found traces of the allocation."
    missing = (CHECKS_OF_HOST if reported.shape == "baremetal" else CHECKS_OF_SLICE) - checks.names
    if missing:
        return f"The host did not report these checks: {', '.join(sorted(missing))}."
    expected = _expected(reported)
    differing = [name for name in _DIGESTS if expected.get(name) not in (None, reported.evidence.get(name))]
    if differing:
        return f"The host is not what the platform expects: {', '.join(differing)}."
    return ""


def _expected(reported: Verification) -> Mapping[str, object]:
    expected = reported.asked.get("expected")
    return expected if isinstance(expected, dict) else {}


def _grade_reached(required: Requirements, reported: Verification, checks: _Checks) -> str:
    """Return the grade. A restart counts only with a boot id that the host has never reported before the wipe was sent: a
    tenant could have restarted the host themselves, and have reported another boot id at the release's begin.
    """
    boot_id = reported.evidence.get("boot_id")
    restarted = (
        reported.result.get("grade") == REBOOTED
        and RESTART in checks.clean
        and isinstance(boot_id, str)
        and required.boot_id not in (None, boot_id)
        and required.former_boot_ids is not None
        and boot_id not in required.former_boot_ids
    )
    return REBOOTED if restarted else INSPECTED
