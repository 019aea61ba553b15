"""Members of a project. Who may no longer use its allocations is also locked out of those that they can log in to."""

from collections.abc import Callable

from gpuaas_server.access import service as access
from gpuaas_server.allocations import service as allocations
from gpuaas_server.identity import service as identity
from gpuaas_server.identity.service import Member, Place
from gpuaas_server.kernel.context import Tx

RequireMatch = Callable[[int], None]
ONLY_READS = "project_viewer"


async def project_member_set(
    tx: Tx, tenant_id: str, project_id: str, user_id: str, role: str, require_match: RequireMatch
) -> Member:
    place = Place(tenant_id, project_id)
    member = await identity.member_set(tx, "project_member_set", user_id, role, place, require_match)
    if role == ONLY_READS:
        await _lock_out(tx, project_id, user_id)
    return member


async def project_member_remove(
    tx: Tx, tenant_id: str, project_id: str, user_id: str, require_match: RequireMatch
) -> None:
    place = Place(tenant_id, project_id)
    await identity.member_remove(tx, "project_member_remove", user_id, place, require_match)
    await _lock_out(tx, project_id, user_id)


async def _lock_out(tx: Tx, project_id: str, user_id: str) -> None:
    opened = await access.holder_leaves(tx, project_id, user_id)
    if opened:
        await allocations.access_changed(tx, *opened)
