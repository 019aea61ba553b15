"""All SQL of sample items."""

from datetime import datetime  # with states

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import columns_of, fetch_optional, fetch_value, values_insert, values_of
from gpuaas_server.kernel.rows import fetch_one  # with states
from gpuaas_server.sample_items.rows import SampleItemRow

_COLUMNS = columns_of(SampleItemRow)


async def sample_item_insert(connection: Connection, row: SampleItemRow) -> bool:
    """Return False when the project has one of this name."""
    inserted = await fetch_value(
        connection,
        str,
        f"{values_insert('sample_items', SampleItemRow)} ON CONFLICT (project_id, name) DO NOTHING RETURNING id",
        values_of(row),
    )
    return inserted is not None


async def sample_item_list(connection: Connection, project_id: str, page: PageRequest) -> list[SampleItemRow]:
    """List the newest first."""
    statement = f"SELECT {_COLUMNS} FROM sample_items WHERE project_id = %s"
    return await fetch_page(connection, SampleItemRow, statement, (project_id,), page)


async def sample_item_show(connection: Connection, project_id: str, sample_item_id: str) -> SampleItemRow | None:
    return await fetch_optional(
        connection,
        SampleItemRow,
        f"SELECT {_COLUMNS} FROM sample_items WHERE project_id = %s AND id = %s",
        (project_id, sample_item_id),
    )


async def sample_item_delete(connection: Connection, project_id: str, sample_item_id: str) -> SampleItemRow | None:
    """Delete the row and return it; None when there was none."""
    return await fetch_optional(
        connection,
        SampleItemRow,
        f"DELETE FROM sample_items WHERE project_id = %s AND id = %s RETURNING {_COLUMNS}",
        (project_id, sample_item_id),
    )


# begin: with states
async def sample_item_lock(connection: Connection, sample_item_id: str) -> SampleItemRow | None:
    """Find and lock the row by its id alone, for the worker."""
    return await fetch_optional(
        connection,
        SampleItemRow,
        f"SELECT {_COLUMNS} FROM sample_items WHERE id = %s FOR UPDATE",
        (sample_item_id,),
    )


async def sample_item_move(connection: Connection, sample_item_id: str, state: str, now: datetime) -> SampleItemRow:
    return await fetch_one(
        connection,
        SampleItemRow,
        f"UPDATE sample_items SET state = %s, state_since = %s WHERE id = %s RETURNING {_COLUMNS}",
        (state, now, sample_item_id),
    )


# end: with states
