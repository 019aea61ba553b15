"""The projects that an instance serves: its own from the start, and further ones of its tenant when somebody wants it."""

from collections.abc import Mapping

from gpuaas_server.instances import queries
from gpuaas_server.kernel.context import Tx
from gpuaas_server.projects import service as projects


async def serve_from_the_start(tx: Tx, instance: Mapping[str, object]) -> None:
    """The instance's own project is the first that it serves."""
    home = str(instance["project_id"])
    facts = await projects.project_facts(tx.connection, str(instance["tenant_id"]), [home])
    same = {"instance_id": instance["id"], "tenant_id": instance["tenant_id"], "since": tx.now, "added_by": tx.actor.id}
    await queries.projects_insert(
        tx.connection,
        [{**same, "project_id": one.id, "slug": one.slug, "home": one.id == home} for one in facts.values()],
    )
