"""The embedded PostgreSQL of `up`: it is started again when it ends, and nobody waits for it meanwhile.

The log has a line when it ended and one when it answers again; if that takes long, one more says why.
"""

import logging
import time
from pathlib import Path

from gpuaas_server.embedded import postgres
from gpuaas_server.kernel.start import StartFailed

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.1  # between looks whether it answers
LAUNCH_PAUSES = (0.1, 1.0)  # between launches, when each ended at once: the first, and the longest


class EmbeddedDatabase:
    """Keeps the database running. The supervisor calls `revive` after a child has ended, and at the time that it returned."""

    def __init__(self, data_dir: Path) -> None:
        """Start it, and wait until it answers."""
        self._data_dir = data_dir
        self.server = postgres.start(data_dir)
        self._away_since = 0.0  # 0: it runs, as far as is known
        self._launch_at = 0.0
        self._pause = LAUNCH_PAUSES[0]
        self._cause_told = False

    def revive(self) -> float | None:
        """Start it again if it ended. Return the seconds until the next look; None while it runs."""
        now = time.monotonic()
        has_ended = self.server.process.poll() is not None
        if not self._away_since and not has_ended:
            return None
        if not self._away_since:
            self._away_since, self._launch_at, self._pause, self._cause_told = now, now, LAUNCH_PAUSES[0], False
            log.warning("PostgreSQL ended; starting it again", extra={"code": self.server.process.returncode})
        if has_ended:
            self._launch(now)
        elif self.server.answers():
            log.warning(f"PostgreSQL answers again after {now - self._away_since:.1f} s.")
            self._away_since = 0.0
            return None
        if now - self._away_since > postgres.START_SECONDS:
            self._tell_cause(postgres.last_words(self.server.log_file))
        return LOOK_SECONDS

    def _launch(self, now: float) -> None:
        if now < self._launch_at:
            return
        self._launch_at, self._pause = now + self._pause, min(2 * self._pause, LAUNCH_PAUSES[1])
        try:
            self.server = postgres.launch(self._data_dir)
        except (StartFailed, OSError) as error:
            self._tell_cause(str(error))

    def _tell_cause(self, cause: str) -> None:
        if not self._cause_told:
            self._cause_told = True
            log.error(f"PostgreSQL does not start, and is tried again: {cause}")

    def stop(self) -> None:
        self.server.stop()
