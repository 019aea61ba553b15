"""Restarts a host during its wipe: through the kernel, not through programs that a tenant could have replaced.

The progress of the wipe is on disk before the host goes down. After the boot, or a power cut, the wipe continues there.
It names the random id that the signed task brought, which no tenant could know: progress that they planted does not count.
"""

from __future__ import annotations

import ctypes
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from gpuaas_agent import durable, log
from gpuaas_agent.commands import Deadline
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import processes

NAME = "wipe.json"
MOST_ATTEMPTS = 3
_RB_AUTOBOOT = 0x01234567
_SECONDS_TO_GO_DOWN = 60.0


@dataclass(frozen=True)
class WipeProgress:
    """The current wipe: the boots in which it began and ended, and how often it requested a restart."""

    allocation_id: str
    generation: int
    boot_id: str
    attempts: int = 0
    ended_in: str = ""
    wipe_id: str = ""
    journals: str = ""  # the ids of the journals that the wipe began


class WipeProgressStore:
    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / NAME

    def begin(self, allocation_id: str, generation: int, wipe_id: str) -> WipeProgress:
        """Return the progress of this wipe, or begin a new one; progress of another task does not count."""
        known = self.find(allocation_id, wipe_id)
        if known is not None and known.generation == generation:
            return known
        progress = WipeProgress(allocation_id, generation, processes.boot_id(), wipe_id=wipe_id)
        self._write(progress)
        return progress

    def note_attempt(self, progress: WipeProgress) -> WipeProgress:
        again = replace(progress, attempts=progress.attempts + 1)
        self._write(again)
        return again

    def note_journals(self, progress: WipeProgress, journals: str) -> None:
        self._write(replace(self._latest(progress), journals=journals))

    def note_end(self, progress: WipeProgress) -> None:
        self._write(replace(self._latest(progress), ended_in=processes.boot_id()))

    def _latest(self, progress: WipeProgress) -> WipeProgress:
        return self.find(progress.allocation_id, progress.wipe_id) or progress

    def find(self, allocation_id: str, wipe_id: str) -> WipeProgress | None:
        try:
            raw = durable.read_json(self._path) or {}
            progress = WipeProgress(
                str(raw["allocation_id"]),
                int(str(raw["generation"])),
                str(raw["boot_id"]),
                int(str(raw["attempts"])),
                str(raw.get("ended_in") or ""),
                str(raw.get("wipe_id") or ""),
                str(raw.get("journals") or ""),
            )
        except (OSError, ValueError, KeyError):
            return None
        return progress if (progress.allocation_id, progress.wipe_id) == (allocation_id, wipe_id) else None

    def _write(self, progress: WipeProgress) -> None:
        durable.write_json(self._path, vars(progress))


def has_restarted(progress: WipeProgress) -> bool:
    """Tell whether the host restarted after the wipe requested it. A power cut before the request does not count: that boot
    started from files that the tenant left.
    """
    return progress.attempts > 0 and progress.boot_id != processes.boot_id()


def has_booted_since(progress: WipeProgress | None) -> bool:
    """Tell whether the host booted again after the wipe ended, for example after a power cut."""
    return progress is not None and progress.ended_in not in ("", processes.boot_id())


def restart(store: WipeProgressStore, progress: WipeProgress, deadline: Deadline) -> None:
    """Restart the host; on success it does not return. Services are not stopped: a tenant could have changed what they do."""
    if progress.attempts >= MOST_ATTEMPTS:
        raise _failure(f"the host did not restart in {progress.attempts} attempts")
    store.note_attempt(progress)
    log.event("restarting_host", allocation_id=progress.allocation_id)
    os.sync()
    _ask_kernel()
    limit = deadline.at_most(_SECONDS_TO_GO_DOWN)
    while limit.remaining() > 0:
        time.sleep(0.1)
    raise _failure("the kernel accepted the restart, but the host still runs")


def _ask_kernel() -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.reboot(ctypes.c_int(_RB_AUTOBOOT)) != 0:
        raise _failure(f"the kernel refuses to restart the host: {os.strerror(ctypes.get_errno())}")


def _failure(message: str) -> TaskFailure:
    return TaskFailure(
        "restart_failed",
        message[:1].upper() + message[1:],
        "Restart the host by its power control and retry the release, or reinstall it.",
    )
