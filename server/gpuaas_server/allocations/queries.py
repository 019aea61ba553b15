"""All SQL of allocations."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.types.json import Jsonb

from gpuaas_server.allocations.rows import (
    AllocationChanges,
    AllocationFacts,
    AllocationHost,
    AllocationRow,
    LockedAllocation,
    NewAllocation,
    TransitionRow,
    UnendedAllocation,
    WipePolicy,
)
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import (
    columns_of,
    fetch_all,
    fetch_one,
    fetch_optional,
    fetch_value,
    fetch_values,
    recordset_insert,
)

_FROM = (
    " FROM allocations a LEFT JOIN nodes n ON n.id = a.node_id"
    " LEFT JOIN host_reports r ON r.allocation_id = a.id AND r.cleared_at IS NULL"
    " LEFT JOIN maintenance_windows m ON m.node_id = a.node_id AND (m.state = 'planned' OR m.state = 'active')"
)
_ALLOCATION = f"SELECT {columns_of(AllocationRow, 'a')}{_FROM}"
_FACTS = f"SELECT {columns_of(AllocationFacts)} FROM allocations"

ALLOCATION_INSERT = recordset_insert("allocations", NewAllocation)
TRANSITION_INSERT = recordset_insert("allocation_transitions", TransitionRow)


async def transition_list(connection: Connection, allocation_id: str) -> list[TransitionRow]:
    return await fetch_all(
        connection,
        TransitionRow,
        f"SELECT {columns_of(TransitionRow)} FROM allocation_transitions WHERE allocation_id = %s ORDER BY generation",
        (allocation_id,),
    )


async def allocation_show(connection: Connection, project_id: str, allocation_id: str) -> AllocationRow | None:
    return await fetch_optional(
        connection, AllocationRow, f"{_ALLOCATION} WHERE a.id = %s AND a.project_id = %s", (allocation_id, project_id)
    )


async def allocations_show(connection: Connection, named: Sequence[tuple[str, str]]) -> list[AllocationRow]:
    """Read allocations, each named by its id and its project."""
    return await fetch_all(
        connection,
        AllocationRow,
        f"{_ALLOCATION} JOIN unnest(%s::text[], %s::text[]) AS w(id, project_id)"
        " ON a.id = w.id AND a.project_id = w.project_id ORDER BY a.id",
        ([allocation_id for allocation_id, _ in named], [project_id for _, project_id in named]),
    )


async def allocation_lock(connection: Connection, project_id: str, allocation_id: str) -> AllocationRow | None:
    return await fetch_optional(
        connection,
        AllocationRow,
        f"{_ALLOCATION} WHERE a.id = %s AND a.project_id = %s FOR UPDATE OF a",
        (allocation_id, project_id),
    )


async def allocations_lock(connection: Connection, allocation_ids: Sequence[str]) -> list[LockedAllocation]:
    """Lock the allocations for the reconciler, of any tenant: nobody changes them until the step is stored."""
    return await fetch_all(
        connection,
        LockedAllocation,
        f"SELECT {columns_of(LockedAllocation, 'a')}{_FROM} WHERE a.id = ANY(%s) ORDER BY a.id FOR UPDATE OF a",
        (list(allocation_ids),),
    )


async def allocation_list(
    connection: Connection,
    project_id: str | None,
    state: str | None,
    node_id: str | None,
    page: PageRequest,
) -> list[AllocationRow]:
    """List the newest first. The clauses are constants; only values come from outside."""
    clauses, values = ["true"], list[object]()
    for clause, value in (
        ("a.project_id = %s", project_id),
        ("a.state = %s", state),
        ("a.node_id = %s", node_id),
        ("a.id < %s", page.after),
    ):
        if value is not None:
            clauses.append(clause)
            values.append(value)
    return await fetch_all(
        connection,
        AllocationRow,
        f"{_ALLOCATION} WHERE {' AND '.join(clauses)} ORDER BY a.id DESC LIMIT %s",
        [*values, page.rows],
    )


async def wipe_policy(connection: Connection, allocation_id: str) -> WipePolicy:
    """Return what the SKU and the tenant ask of the wipe now, and what is on record of the host."""
    return await fetch_one(
        connection,
        WipePolicy,
        "SELECT coalesce(k.wipe_grade, 'inspected') AS sku_grade, coalesce(t.wipe_grade, 'inspected') AS tenant_grade,"
        " coalesce(k.accept_not_examined, '{}') AS accept_not_examined, n.boot_id"
        " FROM allocations a LEFT JOIN skus k ON k.id = a.sku_id LEFT JOIN tenants t ON t.id = a.tenant_id"
        " LEFT JOIN nodes n ON n.id = a.node_id WHERE a.id = %s",
        (allocation_id,),
    )


async def live_ids_on_node(connection: Connection, node_id: str) -> list[str]:
    return await fetch_values(
        connection, str, "SELECT id FROM allocations WHERE node_id = %s AND ended_at IS NULL ORDER BY id", (node_id,)
    )


async def any_on_node(connection: Connection, node_id: str, states: Sequence[str]) -> bool:
    statement = "SELECT EXISTS (SELECT 1 FROM allocations WHERE node_id = %s AND ended_at IS NULL AND state = ANY(%s))"
    return bool(await fetch_value(connection, bool, statement, (node_id, list(states))))


async def unended_on_nodes(connection: Connection, node_ids: Sequence[str]) -> list[UnendedAllocation]:
    return await fetch_all(
        connection,
        UnendedAllocation,
        f"SELECT {columns_of(UnendedAllocation)} FROM allocations"
        " WHERE node_id = ANY(%s) AND ended_at IS NULL ORDER BY id",
        (list(node_ids),),
    )


async def live_on_node(connection: Connection, node_id: str) -> list[AllocationRow]:
    return await fetch_all(
        connection,
        AllocationRow,
        f"{_ALLOCATION} WHERE a.node_id = %s AND a.ended_at IS NULL ORDER BY a.id FOR UPDATE OF a",
        (node_id,),
    )


async def allocation_change(
    connection: Connection, allocation_id: str, generation: int, changes: AllocationChanges
) -> None:
    """Store the changes. The caller holds the row's lock."""
    values = {k: Jsonb(v) if isinstance(v, dict) else v for k, v in changes.items()}
    assignments = "".join(f"{column} = %({column})s, " for column in changes)
    await connection.execute(
        f"UPDATE allocations SET {assignments} generation = generation + 1"
        " WHERE id = %(id_)s AND generation = %(generation_)s",
        {**values, "id_": allocation_id, "generation_": generation},
    )


async def live_ids(connection: Connection, states: Sequence[str]) -> list[str]:
    return await fetch_values(
        connection,
        str,
        "SELECT id FROM allocations WHERE ended_at IS NULL AND state = ANY(%s) ORDER BY id",
        (list(states),),
    )


async def access_want(connection: Connection, allocation_ids: Sequence[str]) -> None:
    """Ask for another sync of access. The generation stays: the reconciler compares wanted and sent, no snapshot goes stale."""
    await connection.execute(
        "UPDATE allocations SET access_wanted = access_wanted + 1 WHERE id = ANY(%s) AND ended_at IS NULL",
        (list(allocation_ids),),
    )


async def history_remove(connection: Connection, ended_before: datetime, now: datetime, portion: int) -> list[str]:
    """Remove the transitions of allocations that ended before then, and return the allocations' ids."""
    return await fetch_values(
        connection,
        str,
        "WITH old AS (UPDATE allocations SET history_removed_at = %s WHERE id = ANY(ARRAY(SELECT id FROM allocations"
        "   WHERE ended_at < %s AND ended_at IS NOT NULL AND history_removed_at IS NULL ORDER BY ended_at LIMIT %s))"
        "   RETURNING id),"
        " gone AS (DELETE FROM allocation_transitions t USING old WHERE t.allocation_id = old.id)"
        " SELECT id FROM old",
        (now, ended_before, portion),
    )


async def facts_lock(
    connection: Connection, project_ids: Sequence[str], allocation_ids: Sequence[str]
) -> list[AllocationFacts]:
    """Lock allocations in the order of their ids, so that two who lock several do not wait for each other in a circle."""
    return await fetch_all(
        connection,
        AllocationFacts,
        f"{_FACTS} WHERE id = ANY(%s) AND project_id = ANY(%s) ORDER BY id FOR NO KEY UPDATE",
        (list(allocation_ids), list(project_ids)),
    )


async def facts_show(connection: Connection, allocation_ids: Sequence[str]) -> list[AllocationFacts]:
    return await fetch_all(
        connection, AllocationFacts, f"{_FACTS} WHERE id = ANY(%s) ORDER BY id", (list(allocation_ids),)
    )


async def facts_list(connection: Connection, project_id: str, page: PageRequest) -> list[AllocationFacts]:
    """List the project's allocations that have not ended, newest first."""
    return await fetch_page(
        connection,
        AllocationFacts,
        f"{_FACTS} WHERE project_id = %(project)s AND ended_at IS NULL",
        {"project": project_id},
        page,
    )


async def hosts_show(connection: Connection, allocation_ids: Sequence[str]) -> list[AllocationHost]:
    return await fetch_all(
        connection,
        AllocationHost,
        f"SELECT {columns_of(AllocationHost)} FROM allocations WHERE id = ANY(%s)",
        (list(allocation_ids),),
    )
