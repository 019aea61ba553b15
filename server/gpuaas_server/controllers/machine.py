"""Decides who would do the work of an app in a project, from what is known of bindings, consents and replicas. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from gpuaas_server.catalog.schemas import ControllerStatus
from gpuaas_server.controllers.rows import BindingRow, ConsentRow, KindBindingRow, ReplicaRow
from gpuaas_server.kernel.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ControllerFacts:
    """Holds what is known of the controllers of one app. `replicas` are those of the project itself and of bound accounts."""

    slug: str
    project_id: str
    bindings: Sequence[BindingRow]
    consent: ConsentRow | None
    replicas: Sequence[ReplicaRow]


@dataclass(frozen=True, slots=True)
class ServedAppFacts:
    """An app, and what is bound to it. `offered` counts its versions that somebody may run: no drafts."""

    id: str
    slug: str
    tenant_id: str
    of_platform: bool  # published by the platform's own project
    own_bindings: int
    derived: Sequence[BindingRow]
    offered: Sequence[KindBindingRow]  # kind bindings of the app's kinds


@dataclass(frozen=True, slots=True)
class BindingChanges:
    wanted: Sequence[KindBindingRow]
    add: Sequence[KindBindingRow]
    remove: Sequence[BindingRow]


def binding_changes(app: ServedAppFacts) -> BindingChanges:
    """Say which bindings change. An app's own binding serves it alone; without one, the bindings of its kinds serve it."""
    wanted = [] if app.own_bindings else list(app.offered)
    there = {one.kind_binding_id for one in app.derived}
    kept = {one.id for one in wanted}
    return BindingChanges(
        wanted,
        [one for one in wanted if one.id not in there],
        [one for one in app.derived if one.kind_binding_id not in kept],
    )


def derive_status(facts: ControllerFacts, now: datetime, silence: timedelta) -> ControllerStatus:
    """Say who serves the app: a replica of the project always does, one of the publisher's where the tenant consents."""
    consent = facts.consent
    covered = consent is not None and consent.covers(facts.project_id)
    reached = {one.service_account_id for one in facts.bindings if consent is not None and consent.reaches(one)}
    consented = reached if covered else set()
    serving = [
        one for one in facts.replicas if one.project_id == facts.project_id or one.service_account_id in consented
    ]
    live = [one for one in serving if now - one.last_seen_at < silence]
    if live:
        return _live(facts, live)
    if facts.bindings and not consented:
        return _no_consent(facts)
    seen = max((one.last_seen_at for one in serving), default=None)
    if facts.bindings or seen is not None:
        return _silent(facts, seen, now)
    return _status(
        "no_controller",
        f"Nobody runs a controller of {facts.slug} for this project.",
        "Ask the app's publisher to bind a controller to it, or run one with a service account of this project.",
    )


def _live(facts: ControllerFacts, live: Sequence[ReplicaRow]) -> ControllerStatus:
    first = min(live, key=lambda one: (one.since, one.replica))
    shown = _status("live", f"Served by {first.service_account_name} since {first.since:%Y-%m-%d %H:%M} UTC.", None)
    own = first.project_id == facts.project_id
    last = max(one.last_seen_at for one in live)
    said = {"served_by": first.service_account_name, "since": first.since, "version": first.version}
    return shown.model_copy(update=said | {"own": own, "last_seen_at": last, "replicas": len(live)})


def _no_consent(facts: ControllerFacts) -> ControllerStatus:
    other = facts.consent is not None and not facts.consent.covers(facts.project_id)
    elsewhere = " for this project" if other else ""
    message = f"Your tenant has not consented to the controller of {facts.slug}{elsewhere}."
    step = (
        "A tenant administrator can consent, on the app's page in the console or with"
        f" `gpuaas controllers consent {facts.slug}`."
    )
    return _status("no_consent", message, step, facts.bindings[0].service_account_name)


def _silent(facts: ControllerFacts, seen: datetime | None, now: datetime) -> ControllerStatus:
    ago = "was never seen" if seen is None else f"was last seen {int((now - seen).total_seconds())} s ago"
    name = facts.bindings[0].service_account_name if facts.bindings else facts.replicas[0].service_account_name
    step = "Whoever runs it must start it again. A launch with `when_no_controller` set to `queue` waits for it."
    shown = _status("silent", f"The controller of {facts.slug} ({name}) {ago}.", step, name)
    return shown.model_copy(update={"last_seen_at": seen})


def _status(state: str, message: str, next_step: str | None, served_by: str | None = None) -> ControllerStatus:
    return ControllerStatus.model_validate(
        {
            "state": state,
            "served_by": served_by,
            "own": False,
            "since": None,
            "last_seen_at": None,
            "version": None,
            "replicas": 0,
            "message": message,
            "next_step": next_step,
        }
    )
