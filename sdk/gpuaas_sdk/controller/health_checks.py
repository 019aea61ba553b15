"""Checks the health of every running instance that no operation works on, and reports it to the platform."""

import asyncio
import logging
from collections.abc import Iterable
from itertools import zip_longest

from gpuaas_sdk.controller.app import AppController, Health, InstanceSnapshot
from gpuaas_sdk.controller.client import ControllerClient
from gpuaas_sdk.controller.counters import POSITION
from gpuaas_sdk.controller.served_apps import ServedApps
from gpuaas_sdk.controller.usage import report_usage
from gpuaas_sdk.errors import Conflict, GpuaasError, NotFound
from gpuaas_sdk.generated.models import ServedInstance

CHECKS_AT_ONCE = 8
CHECK_SECONDS = 120.0  # after which an instance is left out of this round
log = logging.getLogger(__name__)


async def check_instances(app: AppController, client: ControllerClient, apps: ServedApps) -> int:
    """Returns how many instances were reported. An instance that changed during its check is checked again next time."""
    if type(app).health is AppController.health:  # the app has no health check
        return 0
    found = [one for slug in apps.slugs async for one in client.list_instances(slug) if one.operation_id is None]
    return await _check_all(app, client, take_turns(found))


def take_turns(instances: Iterable[ServedInstance]) -> list[ServedInstance]:
    """Return the instances in turns: the first one of each tenant, then the second of each. So a tenant with many instances,
    slow or broken, holds up those of others only for as many turns as they have instances themselves.
    """
    of_tenant: dict[str, list[ServedInstance]] = {}
    for one in instances:
        of_tenant.setdefault(one.tenant_id, []).append(one)
    turns = zip_longest(*of_tenant.values())
    return [one for turn in turns for one in turn if one is not None]


async def _check_all(app: AppController, client: ControllerClient, instances: Iterable[ServedInstance]) -> int:
    """Check some instances at the same time, in this order. The next round begins when all of them have been checked."""
    waiting = iter(instances)

    async def check_rest() -> int:
        return sum([await _check(app, client, one) for one in waiting])

    ended = await asyncio.gather(*(check_rest() for _ in range(CHECKS_AT_ONCE)), return_exceptions=True)
    for error in ended:
        if isinstance(error, BaseException):
            raise error
    return sum(one for one in ended if isinstance(one, int))


async def _check(app: AppController, client: ControllerClient, short: ServedInstance) -> bool:
    """Check one instance and report the result. Returns False when there is none; only the platform's absence is an error."""
    try:
        snapshot = await _read_snapshot(client, short.project_id, short.id)
        health = await _ask(app, snapshot)
        if health is None:
            return False
        await _record_usage(client, snapshot, health)
        await _report_health(client, snapshot, health)
    except (Conflict, NotFound) as error:
        log.info("The health of %s was not accepted: %s", short.id, error.code)
        return False
    return True


async def _ask(app: AppController, snapshot: InstanceSnapshot) -> Health | None:
    """Return the app's answer. Its check reads what a tenant's hosts send, so an error concerns this instance alone."""
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await app.health(snapshot)
    except GpuaasError:
        raise
    except TimeoutError:
        log.warning("The health check of %s did not end in %.0f s", snapshot.instance.id, CHECK_SECONDS)
    except Exception:
        log.exception("The health check of %s failed", snapshot.instance.id)
    return None


async def _read_snapshot(client: ControllerClient, project_id: str, instance_id: str) -> InstanceSnapshot:
    instances = client.api.instances
    instance = await instances.show(project_id, instance_id)
    return InstanceSnapshot(instance, await instances.members(project_id, instance_id).all(), client.api)


async def _record_usage(client: ControllerClient, snapshot: InstanceSnapshot, health: Health) -> None:
    try:
        await report_usage(client.api, snapshot.instance.project_id, snapshot.instance.id, health.usage)
        health.usage_recorded = True
    except GpuaasError as error:
        log.warning("The usage of %s is not recorded yet: %s", snapshot.instance.id, error)
        health.runtime = None  # it would claim that this usage has been recorded


async def _report_health(client: ControllerClient, snapshot: InstanceSnapshot, health: Health) -> None:
    instance = snapshot.instance
    # Two replicas may check at the same time: what one keeps of the usage, the other must not overwrite.
    guarded = health.runtime is not None and (health.status is None or POSITION in health.runtime)
    await client.api.controller.report_health(
        instance.project_id,
        instance.id,
        instance.generation,
        status=health.status,
        reasons=health.reasons,
        members=health.members,
        runtime=health.runtime,
        expected_runtime=(instance.runtime or {}) if guarded else None,
        mode=None if health.mode is None else health.mode.document(),
    )
