"""A look at the health of every instance at rest, and the word about it to the platform."""

import logging

from gpuaas_sdk.client import Client
from gpuaas_sdk.controller.app import AppController, Health, Watched
from gpuaas_sdk.controller.line import Line
from gpuaas_sdk.errors import Conflict, NotFound

log = logging.getLogger(__name__)


async def health_round(app: AppController, line: Line) -> int:
    """How many were reported on. What changed while we looked is looked at in the next round."""
    project, slug = line.project_id, app.slug
    reported = 0
    for short in await line.client.ask(lambda c: list(c.instances.list(project, status="running", app=slug))):
        if short.operation_id is not None:
            continue
        watched = await _watched(line, short.id)
        health = await app.health(watched)
        if health is None:
            return reported
        try:
            await _report(line, watched, health)
            reported += 1
        except (Conflict, NotFound) as error:
            log.info("health of %s not taken: %s", short.id, error.code)
    return reported


async def _watched(line: Line, instance_id: str) -> Watched:
    project = line.project_id

    def look(client: Client) -> Watched:
        instance = client.instances.show(project, instance_id)
        return Watched(instance, list(client.instances.members(project, instance_id)))

    return await line.client.ask(look)


async def _report(line: Line, watched: Watched, health: Health) -> None:
    project, seen = line.project_id, watched.instance
    await line.client.ask(
        lambda c: c.controller.report_health(
            project, seen.id, health.status, seen.generation, reasons=health.reasons, members=health.members
        )
    )
