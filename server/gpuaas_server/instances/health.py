"""Controllers report health on their own schedule. When one falls silent, its last report no longer counts (jobs.py)."""

from gpuaas_server.identity import service as identity
from gpuaas_server.instances.documents import DETAIL_BYTES, RUNTIME_BYTES, require_size, require_unchanged
from gpuaas_server.instances.health_schemas import HealthAccepted, HealthReport, MemberHealth
from gpuaas_server.instances.locked_instance import REPORT_LIFE, LockedInstance, lock_instance
from gpuaas_server.instances.machine import HEALTH_REPORTABLE
from gpuaas_server.instances.member_problems import REPORTED_CODES
from gpuaas_server.instances.readiness import CODES as READINESS_CODES
from gpuaas_server.instances.rows import MemberRow
from gpuaas_server.instances.schemas import HealthReason
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.failures import Failure
from gpuaas_server.work import leases

WORK = "instance_health"


async def instance_health_report(tx: Tx, caller: Caller, instance_id: str, body: HealthReport) -> HealthAccepted:
    """Accept a report only for the generation that the controller looked at: an older one says nothing about the present."""
    require_size("runtime", body.runtime, RUNTIME_BYTES)
    require_size("access_bundle", body.access_bundle, RUNTIME_BYTES)
    locked = await lock_instance(tx, caller.project_id, instance_id)
    row = locked.row
    if row.app_slug not in identity.bound_apps(caller):
        raise Problem(
            "not_the_controller", f"The service account is not bound to {row.app_slug}.", {"app": row.app_slug}
        )
    if row.decommissioned_at is not None:
        raise Problem("conflict", "The instance is decommissioned.")
    if body.generation != row.generation:
        raise Problem("stale_generation", f"The instance is at generation {row.generation}: read it again.")
    require_unchanged(row.runtime, body.expected_runtime)
    watched = row.reported_at is not None and row.reported_at + REPORT_LIFE > tx.now
    for told in body.members:
        _apply_member_report(locked, told)
    if body.status is not None:
        reasons = [reason.document() for reason in body.reasons]
        locked.note(reported={"status": body.status, "reasons": reasons}, reported_at=tx.now)
    if body.runtime is not None and body.runtime != row.runtime:
        locked.note(runtime=body.runtime)
    if body.access_bundle is not None and body.access_bundle != row.access_bundle:
        locked.note(access_bundle=body.access_bundle)
    if body.mode is not None and (mode := body.mode.document()) != row.mode:
        locked.change(mode=mode)  # it decides what may be asked
    stored = await locked.store()
    if body.status is not None and not watched:
        await leases.enqueue(tx, WORK, [instance_id], run_at=tx.now + REPORT_LIFE)
    tx.audited = True  # a change of health is an event; a thousand reports that nothing changed are none
    return HealthAccepted(
        instance_id=instance_id,
        health_reasons=[HealthReason(**reason) for reason in stored.health_reasons],
        **{name: getattr(stored, name) for name in ("status", "health", "generation")},
    )


def _apply_member_report(locked: LockedInstance, told: MemberHealth) -> None:
    """Apply a report to a member that is in the cluster and that no operation works on.

    A member that failed keeps the reason that it failed for until it is ready: what is seen of it later follows from that.
    """
    member = locked.members.get(told.member_id)
    if member is None:
        raise not_found("member", told.member_id)
    require_size("adapter_detail", told.adapter_detail, DETAIL_BYTES)
    if told.adapter_detail is not None and told.adapter_detail != member.adapter_detail:
        locked.change_member(member, adapter_detail=told.adapter_detail)
    free = locked.live_operation(member) is None and not member.host_gone
    if not free or member.status not in HEALTH_REPORTABLE or _keeps_failure(member, told.status):
        return
    if told.status == "ready":
        unready = member.failure is not None and member.failure["code"] in READINESS_CODES
        if member.status != "ready" and not unready:  # the app's report does not override the host's probe
            locked.set_member_status(member, "ready")
        return
    message = told.message or f"The controller reports that it is {told.status}."
    step = "Recover the member, replace it, or remove it."
    failure = Failure(f"member_{told.status}", message, step, True).document()
    if (told.status, failure) != (member.status, member.failure):
        locked.set_member_status(member, told.status, failure)


def _keeps_failure(member: MemberRow, reported: str) -> bool:
    if member.status != "failed" or member.failure is None or reported == "ready":
        return False
    return reported == "failed" or member.failure["code"] not in REPORTED_CODES
