"""Limits the readers of journals: a few at a time on a host, and one for each allocation, so that none takes all slots."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gpuaas_agent.failures import TaskFailure

MAX_READERS = 2


class JournalBusy(TaskFailure):
    def __init__(self) -> None:
        super().__init__("journal_busy", "Others read the journals of this host", "Try again.", retryable=True)


class ReadSlots:
    def __init__(self, most: int = MAX_READERS) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._taken: set[str] = set()  # allocations

    @contextmanager
    def acquire_slot(self, allocation_id: str, seconds: float) -> Iterator[None]:
        """Hold a slot for the allocation until the block ends. Raises JournalBusy when none is free in time."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._is_free(allocation_id), seconds):
                raise JournalBusy
            self._taken.add(allocation_id)
        try:
            yield
        finally:
            with self._changed:
                self._taken.remove(allocation_id)
                self._changed.notify_all()

    def _is_free(self, allocation_id: str) -> bool:
        return allocation_id not in self._taken and len(self._taken) < self._most
