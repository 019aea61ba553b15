"""The probes that this host runs now: one thread for each allocation, so that a slow app delays nobody else's probes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from gpuaas_agent import log
from gpuaas_agent.probes.checks import ProbeTarget, run_probe
from gpuaas_agent.probes.spec import MOST_SECONDS, Probe, ProbeSpec
from gpuaas_agent.probes.state import ProbeState, is_finished, next_state

MOST_MEMBERS = 64  # on one host
MemberReport = dict[str, object]


@dataclass
class Watch:
    """The probes of one member, and how each stands. Only the thread of its allocation runs them."""

    spec: ProbeSpec
    generation: int
    started: float
    states: dict[str, ProbeState] = field(default_factory=dict)
    due: dict[str, float] = field(default_factory=dict)

    def wire(self) -> MemberReport:
        return {
            "member_id": self.spec.member_id,
            "generation": self.generation,
            "probes": [
                {"key": key, "status": state.status, "since": _timestamp(state.since), "answer": state.answer}
                for key, state in self.states.items()
                if state.is_reported
            ],
        }


class ProbeRegistry:
    """Runs all probes; thread-safe. `changed` is called with the id of a member when one of its probes has news."""

    def __init__(self, changed: Callable[[str], None] = lambda _: None) -> None:
        self._changed = changed
        self._lock = threading.Condition()
        self._watches: dict[str, Watch] = {}
        self._targets: dict[str, ProbeTarget] = {}
        self._threads: set[str] = set()

    def watch(self, spec: ProbeSpec, generation: int, target: ProbeTarget) -> str:
        """Run the probes of a member from now on, instead of those of an earlier task. Returns a detail for the record."""
        now = time.monotonic()
        with self._lock:
            if not spec.probes:
                self._watches.pop(spec.member_id, None)
                self._lock.notify_all()
                return "ended"
            if spec.member_id not in self._watches and len(self._watches) >= MOST_MEMBERS:
                return f"not run: the host runs the probes of {len(self._watches)} members"
            watch = Watch(spec, generation, now)
            for probe in spec.probes:
                watch.states[probe.key], watch.due[probe.key] = ProbeState("pending", time.time()), now
            self._watches[spec.member_id] = watch
            self._targets[spec.allocation_id] = target
            self._start(spec.allocation_id)
            self._lock.notify_all()
        return f"{len(spec.probes)} probes"

    def end(self, member_ids: Iterable[str]) -> None:
        with self._lock:
            for member_id in member_ids:
                self._watches.pop(member_id, None)
            self._lock.notify_all()

    def end_allocation(self, allocation_id: str) -> int:
        """Stop the probes of an allocation before its release, and wait for one that runs: it holds the allocation's
        network. Returns the number of members.
        """
        with self._lock:
            doomed = [one for one, watch in self._watches.items() if watch.spec.allocation_id == allocation_id]
        self.end(doomed)
        with self._lock:
            self._lock.wait_for(lambda: allocation_id not in self._threads, MOST_SECONDS + 1.0)
        return len(doomed)

    def reports(self, member_ids: Iterable[str] | None = None) -> list[MemberReport]:
        """Return the probe reports of these members, or of all."""
        with self._lock:
            wanted = self._watches if member_ids is None else [one for one in member_ids if one in self._watches]
            found = [self._watches[member_id].wire() for member_id in wanted]
        return [report for report in found if report["probes"]]

    def _start(self, allocation_id: str) -> None:
        """Start the thread of the allocation, unless it runs. The caller holds the lock."""
        if allocation_id not in self._threads:
            self._threads.add(allocation_id)
            name = f"probes-{allocation_id}"
            threading.Thread(target=self._run, args=(allocation_id,), name=name, daemon=True).start()

    def _run(self, allocation_id: str) -> None:
        while True:
            with self._lock:
                job = self._next_job(allocation_id)
                if job is None:
                    self._threads.discard(allocation_id)
                    self._targets.pop(allocation_id, None)
                    self._lock.notify_all()
                    return
                due, watch, probe = job
                pause = due - time.monotonic()
                if pause > 0:
                    self._lock.wait(pause)
                    continue
                target = self._targets[allocation_id]
            try:
                self._run_one(watch, probe, target)
            except Exception as problem:  # an error in one probe must not stop the others
                log.error("probe_error", kind=type(problem).__name__, message=str(problem)[:300])
                watch.due[probe.key] = time.monotonic() + probe.interval

    def _next_job(self, allocation_id: str) -> tuple[float, Watch, Probe] | None:
        jobs = (
            (watch.due[probe.key], watch, probe)
            for watch in self._watches.values()
            if watch.spec.allocation_id == allocation_id
            for probe in watch.spec.probes
        )
        return min(jobs, key=lambda job: job[0], default=None)

    def _run_one(self, watch: Watch, probe: Probe, target: ProbeTarget) -> None:
        before = watch.states[probe.key]
        answer = run_probe(probe, target)
        now = time.monotonic()
        after = next_state(probe, before, answer, now - watch.started, time.time())
        with self._lock:
            watch.states[probe.key] = after
            never = float("inf")
            watch.due[probe.key] = never if is_finished(probe, after) else now + after.pause
            is_current = self._watches.get(watch.spec.member_id) is watch
        if is_current and (after.status, after.answer) != (before.status, before.answer):
            self._changed(watch.spec.member_id)


def _timestamp(moment: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
