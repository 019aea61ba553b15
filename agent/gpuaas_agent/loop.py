"""The agent's main loop: poll for tasks, run them in threads, and report until the server has the result.

Rules: tasks of one resource never run concurrently; a task is on disk before it runs; a result is on disk before it is
sent. A kill at any moment therefore loses nothing.
"""

from __future__ import annotations

import contextlib
import random
import threading
import urllib.parse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from gpuaas_agent import log, protocol, signatures, tasks, wire
from gpuaas_agent.identity import Trust
from gpuaas_agent.protocol import Envelope, SignedTask
from gpuaas_agent.state import TaskJournal

_LONGEST_BACKOFF = 30.0
# Twice the terminals of one allocation: a shell that does not answer occupies its thread for 20 seconds.
_TERMINAL_THREADS = 16
_LOG_THREADS = 4


class Backoff:
    """Growing pauses with jitter, so that the agents of a fleet do not reconnect at the same moment."""

    def __init__(self, first: float = 0.2) -> None:
        self._first = first
        self._next = first

    def pause(self, stop: threading.Event) -> bool:
        """Wait. Returns True if the agent should stop."""
        seconds = self._next * random.uniform(0.5, 1.0)
        self._next = min(self._next * 2, _LONGEST_BACKOFF)
        return stop.wait(seconds)

    def reset(self) -> None:
        self._next = self._first


def _ends_probes(envelope: Envelope) -> bool:
    return envelope.kind == "probe" and not envelope.spec.get("probes")


class TaskLoop:
    def __init__(
        self,
        node_id: str,
        trust: Trust,
        connection: wire.Wire,
        journal: TaskJournal,
        executor: tasks.TaskExecutor,
        renew_trust: Callable[[], Trust],
        *,
        poll_wait_seconds: int = 30,
        workers: int = 8,
        stop: threading.Event | None = None,
    ) -> None:
        self.trust = trust
        self.stop = stop or threading.Event()
        self._node_id = node_id
        self._wire = connection
        self._journal = journal
        self._executor = executor
        self._renew_trust = renew_trust
        self._wait = poll_wait_seconds
        self._pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="task")
        # A separate pool: tenants open many terminals, and a release must not wait behind them.
        self._terminal_pool = ThreadPoolExecutor(max_workers=_TERMINAL_THREADS, thread_name_prefix="terminal")
        self._log_pool = ThreadPoolExecutor(max_workers=_LOG_THREADS, thread_name_prefix="logs")
        self._pools = {"terminal": self._terminal_pool, "logs": self._log_pool}
        self._lock = threading.Lock()
        self._accepted: set[str] = set()
        self._queues: dict[str, list[tuple[SignedTask, Envelope]]] = {}

    def resume(self) -> None:
        """After a restart, report finished tasks and run unfinished ones again, if their signatures are valid."""
        self._journal.recover(self.verify_stored)
        for _, stored in self._journal.open_tasks():
            self._enqueue(stored.task, self.verify_stored(stored.task))

    def run(self) -> None:
        backoff = Backoff()
        while not self.stop.is_set():
            try:
                if self.poll_once():
                    backoff.reset()
                    continue
            except wire.Unreachable as problem:
                log.warning("poll_unreachable", message=str(problem))
            except wire.Refused as refusal:
                log.warning("poll_refused", code=refusal.code, status=refusal.status)
            backoff.pause(self.stop)
        self._pool.shutdown(wait=False)
        self._terminal_pool.shutdown(wait=False)
        self._log_pool.shutdown(wait=False)

    def poll_once(self) -> bool:
        """Run one long poll. Returns False if none of the offered tasks could be used."""
        with self._lock:
            have = sorted(self._accepted)[:200]
        query = {"wait": str(self._wait)}
        if have:
            query["have"] = ",".join(have)
        path = "/tasks?" + urllib.parse.urlencode(query, safe=",")
        answer = self._wire.call("GET", path, timeout=self._wait + 15.0)
        offered = answer.get("tasks")
        if not isinstance(offered, list) or not offered:
            return True
        used = [self._accept(entry) for entry in offered]
        return any(used)

    def _accept(self, entry: dict[str, object]) -> bool:
        try:
            task = SignedTask(str(entry["envelope"]), str(entry["kid"]), str(entry["signature"]))
            envelope = self._verified(task)
        except (KeyError, TypeError, protocol.EnvelopeInvalid) as problem:
            log.error("task_not_trusted", message=str(problem))
            return False
        self._enqueue(task, envelope)
        return True

    def verify_stored(self, task: SignedTask) -> Envelope:
        """Verify a task from disk like one from the network; raises EnvelopeInvalid if it is not valid."""
        return signatures.verify_task(task, self.trust.task_keys, self._node_id)

    def _verified(self, task: SignedTask) -> Envelope:
        if task.kid not in self.trust.task_keys:
            with contextlib.suppress(wire.Unreachable, wire.Refused):
                self.trust = self._renew_trust()
        return signatures.verify_task(task, self.trust.task_keys, self._node_id)

    def _enqueue(self, task: SignedTask, envelope: Envelope) -> None:
        """Queue the task behind others of the same resource; one thread runs the queue."""
        with self._lock:
            if envelope.task_id in self._accepted:
                return
            self._accepted.add(envelope.task_id)
        fresh = self._journal.accept(task, envelope)
        if not fresh:
            log.event("task_stale", task_id=envelope.task_id, generation=envelope.generation)
        with self._lock:
            queue = self._queues.setdefault(envelope.resource_id, [])
            queue.append((task, envelope))
            if len(queue) == 1:
                pool = self._pools.get(envelope.kind, self._pool)
                pool.submit(self._drain_queue, envelope.resource_id)

    def _drain_queue(self, resource_id: str) -> None:
        while True:
            with self._lock:
                queue = self._queues[resource_id]
                task, envelope = min(queue, key=lambda pair: pair[1].generation)
            log.correlation_id.set(envelope.correlation_id)
            try:
                self._finish(task, envelope)
            except Exception as problem:  # an error must not stop the queue
                log.error("task_loop_error", kind=type(problem).__name__, message=str(problem))
                self.stop.wait(1.0)
            with self._lock:
                queue.remove((task, envelope))
                self._accepted.discard(envelope.task_id)
                if not queue:
                    del self._queues[resource_id]
                    return

    def _finish(self, task: SignedTask, envelope: Envelope) -> None:
        stored = self._journal.stored_result(envelope.resource_id, envelope.task_id)
        if stored is None:
            started = datetime.now(UTC)
            result = self._execute(task, envelope)
            stored = self._journal.store_result(task, envelope, result.wire())
            log.event(
                "task_done",
                task_id=envelope.task_id,
                kind=envelope.kind,
                status=result.status,
                code=result.failure.code if result.failure else None,
                seconds=round((datetime.now(UTC) - started).total_seconds(), 3),
            )
        if self._report(envelope, stored):
            # Their resource gets no further task, or one whose generation need not be compared.
            once = envelope.kind in ("inspect", "terminal", "logs") or _ends_probes(envelope)
            self._journal.forget_task(envelope.resource_id, envelope.task_id, keep_generation=not once)

    def _execute(self, task: SignedTask, envelope: Envelope) -> protocol.Result:
        highest = self._journal.highest_generation(envelope.resource_id)
        if envelope.generation < highest:
            return tasks.stale_generation(envelope.generation, highest)
        log.event("task_started", task_id=envelope.task_id, kind=envelope.kind)

        def superseded() -> bool:
            return self._journal.highest_generation(envelope.resource_id) > envelope.generation

        def report(phases: list[protocol.Phase]) -> None:
            body = {"generation": envelope.generation, "phases": [p.wire() for p in phases]}
            with contextlib.suppress(wire.Unreachable, wire.Refused):
                path = f"/tasks/{envelope.task_id}/progress"
                self._wire.call("POST", path, body, timeout=2.0)

        return self._executor.execute(envelope, superseded, report, task)

    def _report(self, envelope: Envelope, result: dict[str, object]) -> bool:
        """Report until the server accepts or rejects the result. Returns False if the agent stops before that."""
        backoff = Backoff()
        while True:
            try:
                self._wire.call("POST", f"/tasks/{envelope.task_id}/result", result)
                return True
            except wire.Unreachable as problem:
                log.warning("report_unreachable", message=str(problem))
            except wire.Refused as refusal:
                if not refusal.retryable and refusal.status not in (401, 403):
                    log.warning("report_rejected", task_id=envelope.task_id, code=refusal.code)
                    return True
                log.warning("report_refused", code=refusal.code, status=refusal.status)
            if backoff.pause(self.stop):
                return False
