"""Opens to the controller that holds the lease of an operation the machines of its members, and the artifact of its version."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.access import service as access
from gpuaas_server.artifacts import service as artifacts
from gpuaas_server.catalog import service as catalog
from gpuaas_server.catalog.service import ComponentDocument
from gpuaas_server.controllers import service as controllers
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import member_queries, queries
from gpuaas_server.instances.rows import MemberRow
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Actor, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import not_found
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.service import CHANGES_VERSION, LeasedOperation

Json = dict[str, object]


async def leased_operation(
    connection: Connection,
    caller: Caller,
    operation_id: str,
    lease_token: str,
    actor: Actor,
    now: datetime,
) -> LeasedOperation:
    """Return the operation that this caller holds the lease of, or the problem that says why not."""
    row = await operations.find_operation(connection, caller.project_id, operation_id)
    operations.require_bound(row, identity.bound_apps(caller))
    operation = operations.require_lease(actor, now, row, operation_id, lease_token)
    instance = await queries.instance_show(connection, caller.project_id, operation.instance_id)
    if instance is None:
        raise not_found("instance", operation.instance_id)
    members = await member_queries.members_living(connection, instance.id)
    named = (operation.member_id, operation.new_member_id)
    mine = [m for m in members if operation.target == "instance" or m.id in named]
    attempted = instance.attempted if operation.kind in CHANGES_VERSION else None
    version = attempted or instance.current_version()
    owners = {member.allocation_id: member.place_project_id or caller.project_id for member in members}
    opened = allocations_opened(version["manifest"]["components"], members, mine)
    if (
        caller.by_consent
    ):  # the consent must name the allocation's own project, even if the instance belongs to another one
        covered = await controllers.projects_covered(connection, operation.tenant_id, operation.app_slug, actor.id)
        opened = tuple(one for one in opened if covered is None or owners[one] in covered)
    return LeasedOperation(
        operation_id,
        operation.instance_id,
        operation.tenant_id,
        caller.project_id,
        operation.app_slug,
        operation.kind,
        opened,
        owners,
        () if version["digest"] is None else catalog.digests_of(version["manifest"]),
        version["publisher_project_id"],
        operation.deadline_at,
        operation.lease_until or operation.deadline_at,
    )


def allocations_opened(
    components: Sequence[ComponentDocument], members: Sequence[MemberRow], mine: Sequence[MemberRow]
) -> tuple[str, ...]:
    """Return the machines of the members that the operation works on, and of the components that these depend on.

    A member that joins or leaves a cluster is made known to its head, and only the app's own manifest says who that is. Where
    a component says `opens_dependents`, those who depend on it are opened too: they have to follow a new head.
    """
    depends = {component["key"]: component.get("depends_on", []) for component in components}
    leading = {component["key"] for component in components if component.get("opens_dependents", False)}
    keys = {member.component_key for member in mine}
    near = {head for key in keys for head in depends.get(key, ())}
    near |= {key for key, heads in depends.items() if keys & leading & set(heads)}
    wanted = [*mine, *(member for member in members if member.component_key in near)]
    return tuple(sorted({member.allocation_id for member in wanted if not member.host_gone}))


async def end_access(tx: Tx, operation_id: str) -> None:
    """End what the operation gave to its controller: certificates for machines, and secrets for pulling."""
    await access.certificates_end(tx, operation_id)
    await artifacts.runtime_secrets_end(tx, operation_id)
