"""The readers of logs on this host: a page is read and sent at once, a follower sends what is new until nobody watches."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from gpuaas_agent import log, wire
from gpuaas_agent.commands import Deadline
from gpuaas_agent.failures import DeadlineExceeded, TaskFailure
from gpuaas_agent.host.confined_files import ConfinedFiles
from gpuaas_agent.logs.journal import LOOK_SECONDS, Journal, Portion, Stamp, open_journal, read_news, read_page
from gpuaas_agent.logs.read_slots import JournalBusy, ReadSlots
from gpuaas_agent.logs.spec import MOST_LINES, LogSpec

MOST_FOLLOWERS = 32  # on one host
MOST_OF_ALLOCATION = 8
PAUSE_SECONDS = 0.5  # between two looks whether the files have changed
ALIVE_SECONDS = 10.0  # the platform hears this often that a quiet follower lives
LONGEST_SECONDS = 3600.0
UNREACHABLE_SECONDS = 30.0
CLOSE_SECONDS = 8.0  # longer than one look takes

Send = Callable[[str, dict[str, object]], dict[str, object]]  # (read id, portion) → the platform's answer
Files = Callable[[], ConfinedFiles]  # of the allocation; raises TaskFailure when it does not run


@dataclass
class Follower:
    spec: LogSpec
    files: Files
    stop: threading.Event = field(default_factory=threading.Event)


class LogRegistry:
    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = threading.Condition()
        self._followers: dict[str, Follower] = {}
        self._reading: Counter[str] = Counter()  # allocations whose files are open now, or will be in a moment
        self._read_slots = ReadSlots()

    def read(self, spec: LogSpec, files: Files, deadline: Deadline) -> str:
        """Send one page, or begin to follow. Returns a detail for the record, without a word of the lines."""
        look = deadline.at_most(LOOK_SECONDS)
        with self._open(spec, files, look) as journal:
            forwards = spec.cursor is not None or spec.order == "oldest"
            portion = read_news(journal, spec, look) if spec.follow and forwards else read_page(journal, spec, look)
            stamp = journal.stamp
        if spec.follow:
            self._refuse_too_many(spec)
        watched = self._send(spec.read_id, _wire(spec, portion)).get("watched") is True
        if spec.follow and watched:
            follower = Follower(_continue_after(spec, portion), files)
            self._begin(follower, stamp)
        return f"{len(portion.lines)} lines{', followed' if spec.follow and watched else ''}"

    def end_allocation(self, allocation_id: str) -> int:
        """End the followers of an allocation before its release, and wait for those that have its files open. Returns
        their number.
        """
        with self._lock:
            ending = [one for one in self._followers.values() if one.spec.allocation_id == allocation_id]
            for one in ending:
                one.stop.set()
            self._lock.wait_for(lambda: not self._reading[allocation_id], CLOSE_SECONDS)
        return len(ending)

    @contextmanager
    def _open(self, spec: LogSpec, files: Files, look: Deadline) -> Iterator[Journal]:
        """Open the files when there is a place for it. To wait for one and to read takes no longer than one look."""
        with self._lock:
            self._reading[spec.allocation_id] += 1
        try:
            seconds = look.require("waiting for a place at the journal")
            with self._read_slots.acquire_slot(spec.allocation_id, seconds), open_journal(files()) as journal:
                yield journal
        finally:
            with self._lock:
                self._reading[spec.allocation_id] -= 1
                self._lock.notify_all()

    def _refuse_too_many(self, spec: LogSpec) -> None:
        with self._lock:
            others = [one.spec for one in self._followers.values() if one.spec.read_id != spec.read_id]
        of_allocation = sum(other.allocation_id == spec.allocation_id for other in others)
        if len(others) >= MOST_FOLLOWERS or of_allocation >= MOST_OF_ALLOCATION:
            raise TaskFailure(
                "too_many_log_readers",
                f"{of_allocation} readers follow the logs of this allocation, {len(others)} those of this host",
                "Close one of them, or read without following.",
                retryable=True,
            )

    def _begin(self, follower: Follower, stamp: Stamp) -> None:
        with self._lock:
            earlier = self._followers.get(follower.spec.read_id)
            if earlier is not None:
                earlier.stop.set()
            self._followers[follower.spec.read_id] = follower
        threading.Thread(
            target=self._run, args=(follower, stamp), name=f"log-{follower.spec.read_id}", daemon=True
        ).start()

    def _run(self, follower: Follower, stamp: Stamp) -> None:
        try:
            self._follow(follower, stamp)
        except (TaskFailure, OSError) as problem:
            log.warning("log_follower_ended", read_id=follower.spec.read_id, kind=type(problem).__name__)
        finally:
            with self._lock:
                if self._followers.get(follower.spec.read_id) is follower:
                    del self._followers[follower.spec.read_id]

    def _follow(self, follower: Follower, stamp: Stamp) -> None:
        began = heard = told = time.monotonic()
        pending = Portion()
        while not follower.stop.wait(PAUSE_SECONDS):
            now = time.monotonic()
            if now - began > LONGEST_SECONDS or now - heard > UNREACHABLE_SECONDS:
                return
            if not pending.lines:
                pending, stamp = self._read_news(follower, stamp)
            if not pending.lines and not pending.left_out and now - told < ALIVE_SECONDS:
                continue
            try:
                answer = self._send(follower.spec.read_id, _wire(follower.spec, pending))
            except wire.Unreachable:
                continue  # the same portion again, for a while
            except wire.Refused as refusal:
                if refusal.retryable:
                    continue
                return
            if answer.get("watched") is not True:
                return
            follower.spec = _continue_after(follower.spec, pending)
            heard = told = time.monotonic()
            pending = Portion()

    def _read_news(self, follower: Follower, stamp: Stamp) -> tuple[Portion, Stamp]:
        look = Deadline.after(LOOK_SECONDS)
        try:
            with self._open(follower.spec, follower.files, look) as journal:
                if journal.stamp == stamp:
                    return Portion(), stamp
                return read_news(journal, follower.spec, look), journal.stamp
        except (JournalBusy, DeadlineExceeded):
            return Portion(), stamp  # it looks again soon


def _continue_after(spec: LogSpec, portion: Portion) -> LogSpec:
    """Return the spec of what comes after the portion: forwards, in full portions."""
    following = replace(spec, order="oldest", limit=MOST_LINES)
    return following if not portion.lines else replace(following, cursor=portion.lines[-1].cursor)


def _wire(spec: LogSpec, portion: Portion) -> dict[str, object]:
    return {
        "ticket": spec.ticket,
        "lines": [line.wire() for line in portion.lines],
        "left_out": portion.left_out,
        "more": portion.more,
    }
