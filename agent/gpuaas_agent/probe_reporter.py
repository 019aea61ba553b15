"""Sends what probes say: changes at once, and everything now and then, in case a report was lost.

Many changes in a short time travel together, so that a flapping app costs the platform one call, not many.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence

from gpuaas_agent import log, wire
from gpuaas_agent.loop import Backoff
from gpuaas_agent.probes.registry import MOST_MEMBERS, MemberReport, ProbeRegistry

CONFIRM_SECONDS = 300.0
_SHORTEST_GAP = 1.0  # between two calls
Send = Callable[[dict[str, object]], dict[str, object]]


class ProbeReporter:
    def __init__(self, send: Send, stop: threading.Event) -> None:
        self.registry = ProbeRegistry(self._note)
        self._send = send
        self._stop = stop
        self._changed: set[str] = set()
        self._lock = threading.Lock()
        self._news = threading.Event()
        self._thread: threading.Thread | None = None

    def _note(self, member_id: str) -> None:
        with self._lock:
            self._changed.add(member_id)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="probe-reports", daemon=True)
                self._thread.start()
        self._news.set()

    def _run(self) -> None:
        confirmed = time.monotonic()
        while not self._stop.is_set():
            due = confirmed + CONFIRM_SECONDS * random.uniform(0.8, 1.0) - time.monotonic()
            if self._news.wait(max(due, 0.0)):
                self._deliver(self._take)
            else:
                self._deliver(self.registry.reports)
                confirmed = time.monotonic()
            self._stop.wait(_SHORTEST_GAP)

    def _take(self) -> list[MemberReport]:
        with self._lock:
            changed, self._changed = self._changed, set()
            self._news.clear()
        return self.registry.reports(sorted(changed))

    def _deliver(self, collect: Callable[[], Sequence[MemberReport]]) -> None:
        """Send the report until the platform has it. A probe that changes meanwhile is sent with its newest state."""
        members = {str(report["member_id"]) for report in collect()}
        backoff = Backoff()
        while members:
            reports = self.registry.reports(sorted(members))[:MOST_MEMBERS]
            if not reports:
                return
            try:
                answer = self._send({"members": reports})
            except wire.Unreachable as problem:
                log.warning("probes_unreachable", message=str(problem))
            except wire.Refused as refusal:
                log.warning("probes_refused", code=refusal.code, status=refusal.status)
                if not refusal.retryable and refusal.status not in (401, 403):
                    return  # such as a platform that does not know the call
            else:
                members -= {str(report["member_id"]) for report in reports}
                self._end(answer.get("ended"))
                continue
            if backoff.pause(self._stop):
                return

    def _end(self, ended: object) -> None:
        if isinstance(ended, list) and ended:
            self.registry.end(str(member_id) for member_id in ended)
