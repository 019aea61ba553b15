"""The rows and the SQL of an instance's secrets. Callers that change something have locked the instance.

The values are in the secret store (`secrets`), sealed.
"""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.rows import columns_of, fetch_all, values_insert, values_of


@dataclass(frozen=True, slots=True)
class InstanceSecretRow:
    instance_id: str
    name: str
    tenant_id: str
    project_id: str
    secret_id: str  # in the secret store
    version: int  # the one that holds; the one before is destroyed when a rotation has succeeded
    set_at: datetime
    set_by: str  # who gave this version, or the controller for whose operation it was made
    operation_id: str | None  # the operation that it was made for; null: a person gave it
    read_at: datetime | None  # when a controller last read it


_COLUMNS = columns_of(InstanceSecretRow)


async def secrets_of(connection: Connection, instance_id: str) -> dict[str, InstanceSecretRow]:
    """Find the secrets that have a value, by name."""
    rows = await fetch_all(
        connection,
        InstanceSecretRow,
        f"SELECT {_COLUMNS} FROM instance_secrets WHERE instance_id = %s ORDER BY name",
        (instance_id,),
    )
    return {row.name: row for row in rows}


async def secret_put(connection: Connection, row: InstanceSecretRow) -> None:
    """Insert a secret, or its next version."""
    await connection.execute(
        f"{values_insert('instance_secrets', InstanceSecretRow)} ON CONFLICT (instance_id, name) DO UPDATE SET"
        " secret_id = excluded.secret_id, version = excluded.version, set_at = excluded.set_at,"
        " set_by = excluded.set_by, operation_id = excluded.operation_id, read_at = excluded.read_at",
        values_of(row),
    )


async def secrets_read(connection: Connection, instance_id: str, names: Sequence[str], now: datetime) -> None:
    await connection.execute(
        "UPDATE instance_secrets SET read_at = %s WHERE instance_id = %s AND name = ANY(%s)",
        (now, instance_id, list(names)),
    )


async def secrets_delete(connection: Connection, instance_id: str) -> None:
    await connection.execute("DELETE FROM instance_secrets WHERE instance_id = %s", (instance_id,))
