"""When a host asks for its next certificates: after a third of a life, so that an outage of two thirds does no harm."""

from __future__ import annotations

import time
from collections.abc import Callable

SHORTEST_LIFE = 30.0
LONGEST_LIFE = 24 * 3600.0  # also of those that an earlier agent left, of which nobody knows the age
_RETRY_SECONDS = 60.0


class CertificateSchedule:
    """All certificates of the host are made anew together, at the time of the one that is due first."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._life = LONGEST_LIFE
        self._due = clock() + _RETRY_SECONDS

    @property
    def is_due(self) -> bool:
        return self._clock() >= self._due

    def issued(self, life: float) -> None:
        """The platform gave one that lives for so many seconds."""
        self._life = min(max(life, SHORTEST_LIFE), LONGEST_LIFE)
        self._due = min(self._due, self._clock() + self._life / 3)

    def done(self) -> None:
        self._due = self._clock() + self._life / 3

    def failed(self) -> None:
        self._due = self._clock() + min(_RETRY_SECONDS, self._life / 3)
