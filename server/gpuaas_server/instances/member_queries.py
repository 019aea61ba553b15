"""All SQL of the members of app instances, and of the allocations that they live on."""

from collections.abc import Sequence
from datetime import datetime
from typing import get_type_hints

from gpuaas_server.instances.rows import BusyAllocation, InstanceOfTenant, MemberChanges, MemberRow
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.json_text import as_json
from gpuaas_server.kernel.rows import (
    columns_of,
    fetch_all,
    fetch_optional,
    fetch_value,
    fetch_values,
    recordset_insert,
)

_COLUMNS = columns_of(MemberRow)
_INSERT = recordset_insert("app_members", MemberRow)
_CHANGING = tuple(get_type_hints(MemberChanges))
_UPDATE = (
    f"UPDATE app_members m SET {', '.join(f'{name} = r.{name}' for name in _CHANGING)}, generation = m.generation + 1"
    " FROM jsonb_populate_recordset(NULL::app_members, %s::jsonb) AS r WHERE m.id = r.id"
)


async def members_insert(connection: Connection, rows: Sequence[MemberRow]) -> None:
    await connection.execute(_INSERT, (as_json(list(rows)),))


async def members_update(connection: Connection, rows: Sequence[MemberRow]) -> None:
    """Write all that can change of some members, in one statement. Caller must have locked the instance."""
    changed = [{"id": row.id, **{name: getattr(row, name) for name in _CHANGING}} for row in rows]
    await connection.execute(_UPDATE, (as_json(changed),))


async def member_list(
    connection: Connection, instance_id: str, removed: bool, after: int | None, limit: int
) -> list[MemberRow]:
    living = "" if removed else " AND removed_at IS NULL"
    return await fetch_all(
        connection,
        MemberRow,
        f"SELECT {_COLUMNS} FROM app_members WHERE instance_id = %s AND ordinal > %s{living} ORDER BY ordinal LIMIT %s",
        (instance_id, -1 if after is None else after, limit),
    )


async def members_living(connection: Connection, instance_id: str) -> list[MemberRow]:
    return await fetch_all(
        connection,
        MemberRow,
        f"SELECT {_COLUMNS} FROM app_members WHERE instance_id = %s AND removed_at IS NULL ORDER BY ordinal",
        (instance_id,),
    )


async def components_launched(connection: Connection, instance_id: str, until: datetime) -> list[str]:
    """List the components that had members when the instance was launched, whether or not these are there still."""
    return await fetch_values(
        connection,
        str,
        "SELECT DISTINCT component_key FROM app_members WHERE instance_id = %s AND created_at <= %s",
        (instance_id, until),
    )


async def member_show(connection: Connection, instance_id: str, member_id: str) -> MemberRow | None:
    return await fetch_optional(
        connection,
        MemberRow,
        f"SELECT {_COLUMNS} FROM app_members WHERE id = %s AND instance_id = %s",
        (member_id, instance_id),
    )


async def member_ordinal(connection: Connection, member_id: str) -> int | None:
    return await fetch_value(connection, int, "SELECT ordinal FROM app_members WHERE id = %s", (member_id,))


async def operations_referenced(
    connection: Connection, instance_ids: Sequence[str], operation_ids: Sequence[str]
) -> set[str]:
    """Find the operations that an instance, or a member that is not gone, names as its last one."""
    found = await fetch_values(
        connection,
        str,
        "SELECT last_operation_id FROM app_instances WHERE id = ANY(%(instances)s)"
        " AND last_operation_id = ANY(%(operations)s) UNION SELECT last_operation_id FROM app_members"
        " WHERE instance_id = ANY(%(instances)s) AND removed_at IS NULL AND last_operation_id = ANY(%(operations)s)",
        {"instances": list(set(instance_ids)), "operations": list(operation_ids)},
    )
    return set(found)


async def busy_allocations(connection: Connection, allocation_ids: Sequence[str]) -> dict[str, BusyAllocation]:
    """Find which of the allocations an instance lives on, and its name."""
    rows = await fetch_all(
        connection,
        BusyAllocation,
        "SELECT DISTINCT ON (m.allocation_id) m.allocation_id, m.instance_id, i.name FROM app_members m"
        " JOIN app_instances i ON i.id = m.instance_id WHERE m.allocation_id = ANY(%s) AND m.removed_at IS NULL",
        (list(allocation_ids),),
    )
    return {row.allocation_id: row for row in rows}


async def instances_on_allocation(connection: Connection, allocation_id: str) -> list[str]:
    return await fetch_values(
        connection,
        str,
        "SELECT DISTINCT instance_id FROM app_members WHERE allocation_id = %s AND removed_at IS NULL"
        " ORDER BY instance_id",
        (allocation_id,),
    )


async def instances_on_allocations(connection: Connection, allocation_ids: Sequence[str]) -> list[InstanceOfTenant]:
    """Find every instance that has members on one of them."""
    return await fetch_all(
        connection,
        InstanceOfTenant,
        "SELECT DISTINCT instance_id AS id, tenant_id FROM app_members WHERE allocation_id = ANY(%s)"
        " AND removed_at IS NULL ORDER BY instance_id",
        (list(allocation_ids),),
    )


async def allocation_in_use(connection: Connection, allocation_id: str) -> bool:
    """Tell whether a member there is to leave, or an operation works on it or on its instance."""
    found = await fetch_value(
        connection,
        bool,
        "SELECT EXISTS (SELECT 1 FROM app_members m JOIN app_instances i ON i.id = m.instance_id"
        " WHERE m.allocation_id = %s AND m.removed_at IS NULL"
        " AND (m.leaving OR m.operation_id IS NOT NULL OR i.operation_id IS NOT NULL))",
        (allocation_id,),
    )
    return bool(found)
