"""Checks the health of every running instance that no operation works on, and reports it to the platform."""

import logging

from gpuaas_sdk.controller.app import AppController, Health, InstanceSnapshot
from gpuaas_sdk.controller.client import ControllerClient
from gpuaas_sdk.controller.served_apps import find_served_apps
from gpuaas_sdk.controller.usage import report_usage
from gpuaas_sdk.errors import Conflict, GpuaasError, NotFound

log = logging.getLogger(__name__)


async def check_instances(app: AppController, client: ControllerClient) -> int:
    """Returns how many instances were reported. An instance that changed during its check is checked again next time."""
    if type(app).health is AppController.health:  # the app has no health check
        return 0
    return sum([await _check_app(app, slug, client) for slug in await find_served_apps(app, client)])


async def _check_app(app: AppController, slug: str, client: ControllerClient) -> int:
    reported = 0
    async for short in client.list_instances(slug):
        if short.operation_id is not None:
            continue
        try:
            snapshot = await _read_snapshot(client, short.project_id, short.id)
            health = await app.health(snapshot)
            if health is None:
                continue
            await _record_usage(client, snapshot, health)
            await _report_health(client, snapshot, health)
            reported += 1
        except (Conflict, NotFound) as error:
            log.info("The health of %s was not accepted: %s", short.id, error.code)
    return reported


async def _read_snapshot(client: ControllerClient, project_id: str, instance_id: str) -> InstanceSnapshot:
    instances = client.api.instances
    instance = await instances.show(project_id, instance_id)
    return InstanceSnapshot(instance, await instances.members(project_id, instance_id).all())


async def _record_usage(client: ControllerClient, snapshot: InstanceSnapshot, health: Health) -> None:
    try:
        await report_usage(client.api, snapshot.instance.project_id, snapshot.instance.id, health.usage)
        health.usage_recorded = True
    except GpuaasError as error:
        log.warning("The usage of %s is not recorded yet: %s", snapshot.instance.id, error)
        health.runtime = None  # it would claim that this usage has been recorded


async def _report_health(client: ControllerClient, snapshot: InstanceSnapshot, health: Health) -> None:
    instance = snapshot.instance
    await client.api.controller.report_health(
        instance.project_id,
        instance.id,
        health.status,
        instance.generation,
        reasons=health.reasons,
        members=health.members,
        runtime=health.runtime,
        mode=None if health.mode is None else health.mode.document(),
    )
