"""SQL of how often somebody may try: attempts per source in each minute."""

from datetime import datetime

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.rows import fetch_value


async def rate_add(connection: Connection, address: str, minute: datetime, attempts: int) -> int:
    """Count attempts of a source in a minute; the answer is how many there are now."""
    counted = await fetch_value(
        connection,
        int,
        "INSERT INTO login_rates AS r (address, minute, attempts) VALUES (%s, %s, %s)"
        " ON CONFLICT (address, minute) DO UPDATE SET attempts = r.attempts + EXCLUDED.attempts"
        " RETURNING attempts",
        (address, minute, attempts),
    )
    return counted or 0


async def rate_read(connection: Connection, address: str, minute: datetime) -> int:
    counted = await fetch_value(
        connection, int, "SELECT attempts FROM login_rates WHERE address = %s AND minute = %s", (address, minute)
    )
    return counted or 0


async def rate_forget(connection: Connection, before: datetime) -> None:
    await connection.execute("DELETE FROM login_rates WHERE minute < %s", (before,))
