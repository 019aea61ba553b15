"""SQL of the long poll: what waits for nodes, and by which key each may ask for it."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.rows import fetch_all


@dataclass(frozen=True, slots=True)
class PendingTask:
    """A node with one of its pending tasks. A node without any has one such row, whose task columns are null."""

    node_id: str
    key_generation: int
    id: str | None
    kind: str | None
    resource_id: str | None
    generation: int | None
    deadline: datetime | None
    correlation_id: str | None
    traceparent: str | None
    spec: dict[str, object] | None


async def tasks_pending(connection: Connection, node_ids: Sequence[str]) -> list[PendingTask]:
    """List one row for each task, and one with a null id for a node without any; a retired node has no row at all."""
    return await fetch_all(
        connection,
        PendingTask,
        "SELECT n.id AS node_id, n.key_generation, t.id, t.kind, t.resource_id, t.generation, t.deadline, t.correlation_id,"
        " t.traceparent, t.spec FROM nodes n LEFT JOIN node_tasks t ON t.node_id = n.id AND t.status = 'pending'"
        " WHERE n.id = ANY(%s) AND n.retired_at IS NULL ORDER BY n.id, t.id",
        (list(node_ids),),
    )
