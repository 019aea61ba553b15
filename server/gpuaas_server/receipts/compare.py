"""Compare what a host showed with what it was asked and what was there before: each check gets a verdict. Pure.

The host's word is judged, not believed: an answer to another question, with a check missing, or from another baseline
proves nothing. A check that could not look is not clean.
"""

from collections.abc import Mapping
from dataclasses import field

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.receipts.footprint import Footprint
from gpuaas_server.receipts.rows import CheckDocument

STOPPED = ("units", "processes", "ports", "containers", "cron", "credentials")
GONE = (*STOPPED, "paths", "users", "mounts", "authorized_keys")
# Stopped: nothing runs, and nothing will start it. Gone: nothing is left at all.
CHECKS: dict[str, tuple[str, ...]] = {"stopped": STOPPED, "gone": GONE}
MOST_ITEMS = 50
_LONGEST, _LOOKED_FOR = 300, 200


@dataclass(frozen=True, slots=True)
class InspectionRequest:
    receipt_id: str
    allocation_id: str
    depth: str
    footprint: Footprint
    footprint_sha256: str
    baseline_sha256: str | None  # of the host when the allocation became active, where its driver takes one


@dataclass(frozen=True, slots=True)
class Finding:
    item: str
    why: str
    known: bool  # it was there before the tenant came


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    verdict: str  # absent, left, not_seen
    entries: list[str] = field(default_factory=list)
    found: list[Finding] = field(default_factory=list)
    left: int = 0
    not_in_footprint: list[str] = field(default_factory=list)
    examined: int = 0
    problem: str = ""

    def document(self) -> CheckDocument:
        return {
            "name": self.name,
            "verdict": self.verdict,
            "entries": self.entries,
            "found": [{"item": one.item, "why": one.why, "known": one.known} for one in self.found],
            "left": self.left,
            "not_in_footprint": self.not_in_footprint,
            "examined": self.examined,
            "problem": self.problem,
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison. `status` is the receipt's: clean, left or unseen; `code` says why it is not clean."""

    status: str
    code: str | None = None
    message: str = ""
    checks: list[Check] = field(default_factory=list)


class _Malformed(Exception):
    """The host's answer does not match the request; the text says how."""


def compare(asked: InspectionRequest, result: Mapping[str, object], evidence: Mapping[str, object]) -> Comparison:
    try:
        _require_same(asked, result)
        checks = _checks(asked, result)
    except _Malformed as problem:
        return Comparison("unseen", "evidence_mismatch", f"The host's evidence {problem}.")
    if asked.baseline_sha256 is not None and evidence.get("baseline_sha256") != asked.baseline_sha256:
        # Whoever had root could have made the agent forget what the host looked like; we did not forget.
        return Comparison(
            "unseen", "baseline_mismatch", "The host was compared with another baseline than the recorded one.", checks
        )
    return _compare_checks(checks)


def _compare_checks(checks: list[Check]) -> Comparison:
    left = [check for check in checks if check.verdict == "left"]
    if left:
        names = ", ".join(f"{check.name} ({check.left})" for check in left)
        return Comparison("left", "teardown_incomplete", f"Left on the host: {names}.", checks)
    unseen = [check.name for check in checks if check.verdict == "not_seen"]
    if unseen:
        return Comparison(
            "unseen", "inspection_incomplete", f"The host could not examine: {', '.join(unseen)}.", checks
        )
    return Comparison("clean", checks=checks)


def _require_same(asked: InspectionRequest, result: Mapping[str, object]) -> None:
    for name in ("receipt_id", "allocation_id", "depth", "footprint_sha256"):
        if result.get(name) != getattr(asked, name):
            raise _Malformed(f"is about another {name}")


def _checks(asked: InspectionRequest, result: Mapping[str, object]) -> list[Check]:
    told = result.get("checks")
    if not isinstance(told, list) or not all(isinstance(one, dict) for one in told):
        raise _Malformed("has no checks")
    by_name = {one.get("name"): one for one in told}
    wanted = CHECKS[asked.depth]
    if len(told) != len(by_name) or set(by_name) != set(wanted):
        raise _Malformed("has other checks than were asked")
    return [_check(name, by_name[name], asked.footprint) for name in wanted]


def _check(name: str, told: Mapping[str, object], footprint: Footprint) -> Check:
    entries, found = _texts(told, "entries"), [_finding(one) for one in _list(told, "found")]
    if name in footprint and entries != [entry[:_LOOKED_FOR] for entry in footprint[name]]:
        raise _Malformed(f"looked for other {name}")
    # Of a long list only a part is sent: the count says how many there are.
    left = max(_number(told, "left"), sum(not one.known for one in found))
    problem = _plain(told.get("problem") or "")
    verdict = "left" if left else "not_seen" if problem else "absent"
    not_in_footprint = _texts(told, "not_in_footprint")[:MOST_ITEMS]
    return Check(name, verdict, entries, found[:MOST_ITEMS], left, not_in_footprint, _number(told, "examined"), problem)


def _finding(one: object) -> Finding:
    if not isinstance(one, dict) or not isinstance(one.get("known"), bool):
        raise _Malformed("has a finding that says too little")
    return Finding(_plain(one.get("item")), _plain(one.get("why")), one["known"])


def _list(told: Mapping[str, object], key: str) -> list[object]:
    value = told.get(key)
    if not isinstance(value, list):
        raise _Malformed(f"has a check without {key}")
    return value


def _texts(told: Mapping[str, object], key: str) -> list[str]:
    return [_plain(one) for one in _list(told, key)]


def _plain(text: object) -> str:
    """Return short, printable text that is safe to show: tenants choose the names on a host."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(text)[:_LONGEST])


def _number(told: Mapping[str, object], key: str) -> int:
    value = told.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _Malformed(f"has a check whose {key} is no number")
    return value
