"""The outbox relay: hands every event of the log, in order, at least once, to a sink outside the database.

The place of each sink is kept in the database and moves only after the sink has the event for good.
"""

import os
from pathlib import Path
from typing import Protocol

from gpuaas_server.events.schemas import Event


class Sink(Protocol):
    name: str

    def deliver(self, events: list[Event]) -> None:
        """Return when the events are safe; raise to have them again."""


class JsonLinesSink:
    """One event a line, synced to disk before it counts as delivered."""

    def __init__(self, path: Path) -> None:
        self.name = f"file:{path}"
        self._path = path

    def deliver(self, events: list[Event]) -> None:
        lines = b"".join(event.__pydantic_serializer__.to_json(event) + b"\n" for event in events)
        with self._path.open("ab") as file:
            file.write(lines)
            file.flush()
            os.fsync(file.fileno())
