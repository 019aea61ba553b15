"""Smoke launches: the platform launches a version on allocations that its publisher names, waits until hosts say that it is
ready, removes it again, and keeps what came of it as evidence of the version's artifacts.

Deploy and decommission are ordinary operations with their leases, deadlines and receipts. The work row is all that is kept
of a smoke launch besides: its subject names the instance, and each operation of the instance wakes it when it ends.
"""

from gpuaas_server.catalog import service as catalog
from gpuaas_server.instances import service
from gpuaas_server.instances.locked_instance import SMOKE_WORK
from gpuaas_server.instances.schemas import InstanceCreate, InstanceStarted, SmokeLaunch
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.operations.service import OperationRow
from gpuaas_server.work import leases

LONGEST = 40  # characters of the app's slug in the instance's name


async def app_version_smoke(
    tx: Tx, settings: Settings, caller: Caller, app_id: str, version_id: str, body: SmokeLaunch
) -> InstanceStarted:
    """Launch the version in the project that publishes it. A draft is put on trial by that."""
    version = await catalog.version_for_smoke(tx, caller, app_id, version_id)
    _require_probes(version, {one.component_key for one in body.placement_intent})
    create = InstanceCreate(
        app=version.slug,
        version=version.version,
        name=f"smoke-{version.slug[:LONGEST].rstrip('-')}-{new_id('ins')[-8:]}",
        placement_intent=body.placement_intent,
        inputs=body.inputs,
        reconcile_policy="off",
        deadline_seconds=body.deadline_seconds,
        when_no_controller="queue",  # of a first version, a controller learns a moment later
    )
    started = await service.instance_create(tx, settings, caller, create)
    await leases.enqueue(tx, SMOKE_WORK, [started.instance.id], flow=caller.tenant_id)
    return started


def _require_probes(version: catalog.RegisteredVersion, placed: set[str]) -> None:
    """Refuse a launch that would show nothing of any image."""
    nothing_placed = catalog.unobserved_images(version.manifest, ())
    if nothing_placed and catalog.unobserved_images(version.manifest, placed) == nothing_placed:
        raise Problem(
            "invalid_request",
            "placement_intent: no component has a readiness probe that hosts run, so the launch would show nothing. Place a"
            f" component of version {version.version} that has one, or register a version with one (kind tcp or http).",
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """Says what a smoke launch showed, and by which operation."""

    passed: bool
    summary: str
    operation_id: str


def decide_verdict(deploy: OperationRow, removal: OperationRow, last_version: str) -> Verdict:
    """Judge a smoke launch whose two operations have ended: the version must have become ready, have stayed until the end, and
    have left nothing behind.
    """
    if deploy.status != "succeeded":
        return Verdict(False, f"The launch {_ended(deploy)}", deploy.id)
    if last_version != deploy.parameters["version"]:
        return Verdict(False, f"The instance was changed to version {last_version} before its removal.", deploy.id)
    if removal.status != "succeeded" or removal.forced is not None:
        return Verdict(False, f"The instance became ready, but its removal {_ended(removal)}", removal.id)
    return Verdict(True, "The instance became ready on its hosts and was removed; the receipts are clean.", deploy.id)


def _ended(operation: OperationRow) -> str:
    if operation.failure is not None:
        return f"{operation.status}: {operation.failure['code']}: {operation.failure['message']}"[:1500]
    forced = " by force, so nothing proves that the hosts are clean" if operation.forced is not None else ""
    return f"{operation.status}{forced}."
