"""A look at the health of every instance at rest, and the word about it to the platform."""

import logging

from gpuaas_sdk.controller.app import AppController, Health, Watched
from gpuaas_sdk.controller.line import Line
from gpuaas_sdk.controller.usage import report_usage
from gpuaas_sdk.errors import Conflict, GpuaasError, NotFound

log = logging.getLogger(__name__)


async def health_round(app: AppController, line: Line) -> int:
    """How many were reported on. What changed while we looked is looked at in the next round."""
    reported = 0
    if type(app).health is AppController.health:  # this app never looks
        return reported
    for short in await line.client.instances.list(line.project_id, status="running", app=app.slug).all():
        if short.operation_id is not None:
            continue
        try:
            watched = await _watched(line, short.id)
            health = await app.health(watched)
            if health is None:
                continue
            await _record(line, watched, health)
            await _report(line, watched, health)
            reported += 1
        except (Conflict, NotFound) as error:
            log.info("health of %s not taken: %s", short.id, error.code)
    return reported


async def _watched(line: Line, instance_id: str) -> Watched:
    instance = await line.client.instances.show(line.project_id, instance_id)
    return Watched(instance, await line.client.instances.members(line.project_id, instance_id).all())


async def _record(line: Line, watched: Watched, health: Health) -> None:
    try:
        await report_usage(line, watched.instance.id, health.usage)
        health.recorded = True
    except GpuaasError as error:
        log.warning("usage of %s not recorded yet: %s", watched.instance.id, error)
        health.runtime = None  # it would say that what is lost has been told


async def _report(line: Line, watched: Watched, health: Health) -> None:
    seen = watched.instance
    await line.client.controller.report_health(
        line.project_id,
        seen.id,
        health.status,
        seen.generation,
        reasons=health.reasons,
        members=health.members,
        runtime=health.runtime,
        mode=None if health.mode is None else health.mode.document(),
    )
