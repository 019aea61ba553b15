"""Decides when a host renews its certificates: after a third of their life, so that an outage may last two thirds."""

from __future__ import annotations

import time
from collections.abc import Callable

SHORTEST_LIFE = 30.0
LONGEST_LIFE = 24 * 3600.0  # also assumed for certificates of an earlier agent, whose age is unknown
_RETRY_SECONDS = 60.0


class CertificateSchedule:
    """All certificates of the host are renewed together, when the first of them is due."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._life = LONGEST_LIFE
        self._due = clock() + _RETRY_SECONDS

    @property
    def is_due(self) -> bool:
        return self._clock() >= self._due

    def issued(self, life: float) -> None:
        """Note that the platform issued a certificate that is valid for `life` seconds."""
        self._life = min(max(life, SHORTEST_LIFE), LONGEST_LIFE)
        self._due = min(self._due, self._clock() + self._life / 3)

    def done(self) -> None:
        self._due = self._clock() + self._life / 3

    def failed(self) -> None:
        self._due = self._clock() + min(_RETRY_SECONDS, self._life / 3)
