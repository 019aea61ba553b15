"""The maintenance machine: begins and ends the window of a node in time."""

from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.nodes import maintenance, maintenance_queries, queries


@dataclass(frozen=True, slots=True)
class WindowStep:
    """The state that the window gets now, if it gets another, and when to look again."""

    state: str | None
    again_at: datetime | None


def decide(state: str, starts_at: datetime, ends_at: datetime, now: datetime) -> WindowStep:
    """A window that nobody could begin in its time ends without having begun."""
    if now >= ends_at:
        return WindowStep("ended", None)
    if state == "planned" and now >= starts_at:
        return WindowStep("active", ends_at)
    return WindowStep(None, starts_at if state == "planned" else ends_at)


@dataclass(frozen=True, slots=True)
class LiveWindow:
    """The node's row, locked, and its window."""

    node: DictRow
    window: DictRow


class MaintenanceMachine:
    kind = maintenance.WORK

    async def load(self, connection: Connection, subject: str) -> LiveWindow | None:
        node = await queries.node_lock(connection, subject)
        window = await maintenance_queries.window_live(connection, subject)
        return None if node is None or window is None else LiveWindow(node, window)

    def decide(self, live: LiveWindow, now: datetime) -> WindowStep:
        return decide(live.window["state"], live.window["starts_at"], live.window["ends_at"], now)

    async def apply(self, tx: Tx, live: LiveWindow, step: WindowStep) -> datetime | None:
        if step.state == "active":
            await maintenance.start_window(tx, live.node, live.window)
        elif step.state == "ended":
            await maintenance.end_window(tx, live.node, live.window)
        return step.again_at
