"""Decides what an instance and its members become when an operation begins or ends, and how healthy that is: pure tables.

created → starting → running → stopping → stopped
              ↓         ↓          ↓
                  failed → starting, stopping, running (repaired), stopped (forced)
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

from gpuaas_server.instances.member_problems import MemberProblem
from gpuaas_server.instances.rows import ClosedDocument, ModeDocument, ReasonDocument
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.operations.service import ADD, BRINGS_CURRENT, CLOSABLE, INSTANCE_KINDS, KINDS, MEMBER_KINDS, Kind

# Which states may follow which; the docs' diagram and the property tests read this table.
TRANSITIONS: dict[str, frozenset[str]] = {
    "created": frozenset({"starting", "failed"}),
    "starting": frozenset({"running", "failed", "stopped"}),
    "running": frozenset({"starting", "stopping", "failed"}),
    "stopping": frozenset({"stopped", "failed", "running"}),
    "stopped": frozenset({"starting", "stopping"}),
    "failed": frozenset({"starting", "stopping", "running", "stopped"}),
}
SETTLED = ("running", "stopped", "failed")

IN_BETWEEN = ("pending", "joining", "draining", "removing")
# What a controller may say that a member is. `removed` is for the platform to say, when it is proven.
REPORTABLE = ("ready", "degraded", "drained", "failed")
HEALTH_REPORTABLE = ("ready", "degraded", "failed")


def status_asked(kind: str, status: str) -> str:
    """Return the instance's status from the moment an operation is asked for."""
    row = KINDS[kind]
    return status if status == "created" and row.instance_begun else row.instance_requested or status


def status_begun(kind: str, status: str) -> str:
    return KINDS[kind].instance_begun or status


def status_done(kind: str) -> str:
    return KINDS[kind].instance_done


def status_broken(kind: str, before: str, begun: bool) -> str:
    """Return the status after an operation that failed. One that was never claimed changed nothing, except a first deploy."""
    row = KINDS[kind]
    return "failed" if row.breaking and (begun or row.breaking_unclaimed) else before


def kind_for_member(kind: str, is_new: bool) -> str:
    """Return the kind that an operation is for one of its members: a replacement adds its new member."""
    return ADD if is_new else kind


def member_done(kind: str, status: str, host_gone: bool = False) -> str:
    """Return the member's status after success. What the controller said of it stands, except that a removed member is gone.

    Upgrade, repair and the like leave alone what works; a member without a host has nothing to stop.
    """
    row = KINDS[kind]
    if row.overrules_reports and (not host_gone or row.member_done == "removed"):
        return row.member_done
    return row.member_done if status in IN_BETWEEN else status


def member_broken(kind: str, status: str) -> str:
    """Return the member's status after failure, never one in between."""
    return KINDS[kind].member_broken if status in IN_BETWEEN else status


def possible_verbs(status: str, deployed: bool, gone: bool, busy: bool, can_roll_back: bool) -> list[str]:
    """List the kinds that could be asked for now; `busy`: an operation is live on the instance or on a member."""
    if gone or busy:
        return []
    verbs = [name for name in INSTANCE_KINDS if _open_in(KINDS[name], status, deployed)]
    return [verb for verb in verbs if can_roll_back or not KINDS[verb].needs_previous]


def _open_in(kind: Kind, status: str, deployed: bool) -> bool:
    return status in kind.instance_from if deployed else kind.from_undeployed and status == "failed"


def members_changeable(status: str, deployed: bool, gone: bool, live: str | None) -> bool:
    """Tell whether member operations could be asked for at all; an operation on one member leaves the others free."""
    return deployed and not gone and live != "instance" and status in ("running", "failed")


def possible_actions(
    status: str, deployed: bool, gone: bool, live: str | None, can_roll_back: bool, untrusted: bool = False
) -> list[str]:
    """List what may be asked for now, as actions of the policy. `live`: what operations work on, `instance` or `member`.

    `untrusted`: its bytes are brought to no host. Here a member operation means a new member; see possible_member_kinds.
    """
    verbs = possible_verbs(status, deployed, gone, live is not None, can_roll_back)
    actions = [f"instance_{verb}" for verb in verbs if verb not in BRINGS_CURRENT or not untrusted]
    if not untrusted and members_changeable(status, deployed, gone, live):
        actions.append("member_operation_create")
    return actions


def possible_member_kinds(status: str, busy: bool, changeable: bool, untrusted: bool = False) -> list[str]:
    """List the kinds that could be asked for on a member; `changeable`: members_changeable of its instance."""
    possible = [kind for kind in MEMBER_KINDS if changeable and not busy and status in KINDS[kind].member_from]
    return [kind for kind in possible if kind not in BRINGS_CURRENT or not untrusted]


# What the controller closes in the present mode of its instance. Only the app knows its modes; a request that could not succeed
# is refused at once, with the app's own words, and clients do not offer it.
CLOSABLE_VERBS = tuple(kind for kind in INSTANCE_KINDS if kind in CLOSABLE)


def closed(mode: ModeDocument | None, kind: str, component_key: str | None = None) -> ClosedDocument | None:
    """Return the entry that closes the kind: for this component, or for all."""
    for entry in mode.get("closed", ()) if mode else ():
        if entry["kind"] == kind and entry.get("component_key") in (None, component_key):
            return entry
    return None


def open_kinds(mode: ModeDocument | None, kinds: Iterable[str], component_key: str | None = None) -> list[str]:
    return [kind for kind in kinds if closed(mode, kind, component_key) is None]


def refuse_closed(mode: ModeDocument | None, kind: str, component_keys: Iterable[str | None] = (None,)) -> None:
    for key in component_keys:
        entry = closed(mode, kind, key)
        if mode is not None and entry is not None:
            raise Problem("closed_in_mode", f"{entry['message']} {entry['next_step']}", {"mode": mode["name"], **entry})


@dataclass(frozen=True, slots=True)
class MemberView:
    id: str
    component_key: str
    status: str
    reason: str | None = None
    problem: MemberProblem | None = None
    busy: bool = False  # an operation works on it


@dataclass(frozen=True, slots=True)
class Report:
    """Holds what the controller last said about health, if it is not too old."""

    status: str
    reasons: Sequence[ReasonDocument] = ()
    stale: bool = False


@dataclass(frozen=True, slots=True)
class InstanceView:
    status: str
    busy: bool  # an operation works on the whole of it
    failure: str | None
    minimum: Mapping[str, int]  # component → members that must be there
    members: Sequence[MemberView]
    report: Report | None = None
    flags: Sequence[ReasonDocument] = ()


@dataclass(frozen=True, slots=True)
class Health:
    status: str
    reasons: tuple[ReasonDocument, ...] = ()


# From best to worst: the worst that is said decides.
_ORDER = ("healthy", "unknown", "progressing", "degraded", "unhealthy")
MOST_REASONS = 20
MOST_MEMBERS_NAMED = 50


def derive_health(view: InstanceView) -> Health:
    """Derive health, with every reason, from the status, the members, the controller's report and the flags."""
    found = list(_verdicts(view))
    worst = max((status for status, _ in found), key=_ORDER.index, default="healthy")
    return Health(worst, tuple(_grouped(reason for _, reason in found if reason is not None))[:MOST_REASONS])


def _grouped(reasons: Iterable[ReasonDocument]) -> list[ReasonDocument]:
    """List each reason once, with all members of which it is true."""
    groups: dict[tuple[object, ...], list[ReasonDocument]] = {}
    for reason in reasons:
        same = (reason["code"], reason["message"], reason.get("next_step"), reason.get("component_key"))
        groups.setdefault(same, []).append(reason)
    return [_joined(group) for group in groups.values()]


def _joined(group: Sequence[ReasonDocument]) -> ReasonDocument:
    members = list(dict.fromkeys(one["member_id"] for one in group if "member_id" in one))
    joined = group[0].copy()
    if members:
        joined["member_id"] = members[0]
    if len(members) > 1:
        joined["member_ids"] = members[:MOST_MEMBERS_NAMED]
    return joined


def _verdicts(view: InstanceView) -> list[tuple[str, ReasonDocument | None]]:
    if view.status in ("created", "stopped"):
        return [("unknown", _reason(f"instance_{view.status}", f"The instance is {view.status}."))]
    if view.status in ("starting", "stopping"):
        said = _reason(f"instance_{view.status}", f"The instance is {view.status}.")
        return [("progressing", said), *_of_problems(view)]
    found: list[tuple[str, ReasonDocument | None]] = []
    if view.status == "failed":
        found.append(("unhealthy", _reason(view.failure or "instance_failed", "The last operation failed.")))
    if view.busy:
        found.append(
            ("progressing", _reason("operation_in_progress", "An operation on the whole instance is in progress."))
        )
    found += _of_problems(view)
    found += _of_members(view)
    found += [("degraded", flag) for flag in view.flags]
    if view.report is not None and not view.busy:
        found += _of_report(view.report, {member.id for member in view.members if not member.busy})
    return found


def _of_problems(view: InstanceView) -> list[tuple[str, ReasonDocument | None]]:
    """Report what the platform knows of hosts and their probes, whatever the controller says."""
    return [
        ("degraded", {**member.problem.reason(), "member_id": member.id, "component_key": member.component_key})
        for member in view.members
        if member.problem is not None
    ]


def _of_members(view: InstanceView) -> list[tuple[str, ReasonDocument | None]]:
    found: list[tuple[str, ReasonDocument | None]] = []
    there = [member for member in view.members if member.problem is None or member.problem.health != "unhealthy"]
    ready = Counter(member.component_key for member in there if member.status in ("ready", "degraded"))
    for key, needed in view.minimum.items():
        if (
            ready[key] < needed and not view.busy and view.status != "failed"
        ):  # a failed instance already shows its failure
            message = f"{ready[key]} of at least {needed} members of {key} are ready."
            found.append(("unhealthy", _reason("too_few_members", message, component_key=key)))
    for member in view.members:
        if member.status in ("failed", "degraded"):
            message = member.reason or f"A member of {member.component_key} is {member.status}."
            found.append(("degraded", _reason(f"member_{member.status}", message, member_id=member.id)))
    return found


def _of_report(report: Report, judged: Container[str]) -> list[tuple[str, ReasonDocument | None]]:
    """Take from a report what it says of the app, and of members that no operation works on (`judged`)."""
    if report.stale:
        return [("unknown", _reason("health_not_reported", "The controller has not reported health for a while."))]
    if not report.reasons:
        return [(report.status, None)]
    return [
        (report.status, reason)
        for reason in report.reasons
        if "member_id" not in reason or reason["member_id"] in judged
    ]


def _reason(
    code: str, message: str, *, member_id: str | None = None, component_key: str | None = None
) -> ReasonDocument:
    reason: ReasonDocument = {"code": code, "message": message}
    if member_id is not None:
        reason["member_id"] = member_id
    if component_key is not None:
        reason["component_key"] = component_key
    return reason


def bound_shape(shapes: Sequence[str | None]) -> str | None:
    """Return the one shape of the members' allocations, `mixed` where there are several, None without members."""
    known = {shape for shape in shapes if shape is not None}
    return "mixed" if len(known) > 1 else next(iter(known), None)


def count_members(members: Sequence[MemberView]) -> dict[str, int]:
    return dict(sorted(Counter(member.status for member in members).items()))
