"""Reads the journal of an allocation's units, page by page, by `journalctl` over files that the agent has opened.

A tenant can put links in place of journal files, and can write the files. So the agent opens them itself, below the root of
the allocation, and journalctl parses them without any capability except reading.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import IO

from gpuaas_agent.commands import ENVIRONMENT, Deadline
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host.confined_files import ConfinedFiles
from gpuaas_agent.logs.lines import FIELDS, LogLine, parse_entry, read_entries
from gpuaas_agent.logs.spec import LogSpec

FOLDERS = ("/var/log/journal", "/run/log/journal")
MOST_FILES = 32  # the newest ones
LARGEST_PORTION = 600_000  # bytes of JSON
LOOK_SECONDS = 5.0
_MOST_ENTRIES = 20_000  # that one look passes over
_WITHOUT_RIGHTS = ("nice", "-n", "10", "setpriv", "--no-new-privs", "--bounding-set=-all,+dac_read_search")
_ARCHIVED = re.compile(r"system@(?:[0-9a-f]{32}-[0-9a-f]{16}-)?([0-9a-f]{16})(?:-[0-9a-f]{16})?\.journal~?")

Stamp = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Journal:
    """Opened journal files, and a stamp that changes when a program writes to them."""

    descriptors: tuple[int, ...]
    stamp: Stamp


@dataclass
class Portion:
    """Lines in the order of time. `more`: there are further ones in the order that was asked for."""

    lines: list[LogLine] = field(default_factory=list)
    left_out: int = 0
    more: bool = False
    size: int = 0

    def take(self, line: LogLine, limit: int) -> bool:
        """Take the line, unless the portion is full."""
        size = len(json.dumps(line.wire()))
        if len(self.lines) >= limit or self.size + size > LARGEST_PORTION:
            return False
        self.lines.append(line)
        self.size += size
        return True

    def drop_oldest(self) -> None:
        self.size -= len(json.dumps(self.lines.pop(0).wire()))
        self.left_out += 1


@contextmanager
def open_journal(files: ConfinedFiles) -> Iterator[Journal]:
    """Open the system journal's files; those of users are not an app's."""
    with ExitStack() as stack:
        found: list[int] = []
        for path in _paths(files):
            descriptor = stack.enter_context(files.opened_file(path))
            if descriptor is not None:
                found.append(descriptor)
        marks = (os.fstat(descriptor) for descriptor in found)
        yield Journal(tuple(found), tuple((mark.st_ino, mark.st_mtime_ns, mark.st_size) for mark in marks))


def _paths(files: ConfinedFiles) -> list[str]:
    folders = [f"{folder}/{machine}" for folder in FOLDERS for machine in files.names(folder)[:16]]
    paths = [f"{folder}/{name}" for folder in folders for name in files.names(folder) if _is_system(name)]
    return sorted(paths, key=_time, reverse=True)[:MOST_FILES]


def _time(path: str) -> int:
    """Return when the file was begun, from its name. The file that is being written counts as the newest."""
    name = path.rpartition("/")[2]
    archived = _ARCHIVED.fullmatch(name)
    if archived is None:
        return 1 << 64 if name == "system.journal" else 0
    return int(archived[1], 16)


def _is_system(name: str) -> bool:
    return name.startswith("system") and name.endswith((".journal", ".journal~"))


def read_page(journal: Journal, spec: LogSpec, deadline: Deadline) -> Portion:
    """Read one page in the spec's order: after its cursor, or from the beginning or the end of its time."""
    portion = Portion()
    if spec.limit == 0:
        return portion
    backwards = spec.order == "newest"
    with _entries(journal, spec, deadline, backwards=backwards) as entries:
        for line in _wanted(entries, spec):
            if line.at < spec.since:
                if backwards:
                    break
                continue
            if not portion.take(line, spec.limit):
                portion.more = True
                break
    if backwards:
        portion.lines.reverse()
    return _with_rest(portion, entries)


def read_news(journal: Journal, spec: LogSpec, deadline: Deadline) -> Portion:
    """Read what came after the spec's cursor. Of too much, the newest lines are kept and the others are counted."""
    portion = Portion()
    with _entries(journal, spec, deadline, backwards=False) as entries:
        for line in _wanted(entries, spec):
            if line.at < spec.since:
                continue
            while not portion.take(line, spec.limit):
                portion.drop_oldest()
    return _with_rest(portion, entries)


@dataclass
class Entries:
    """The output of a running journalctl. `cut_short`: there may be more, but the look took too long or saw too much."""

    output: IO[bytes] | None = None
    cut_short: bool = False

    def __iter__(self) -> Iterator[bytes]:
        if self.output is None:
            return
        for number, entry in enumerate(read_entries(self.output)):
            if number >= _MOST_ENTRIES:
                self.cut_short = True
                return
            if not entry.endswith(b"\n"):
                return  # the program was ended within an entry
            yield entry


def _with_rest(portion: Portion, entries: Entries) -> Portion:
    if entries.cut_short and not portion.lines:
        raise TaskFailure(
            "journal_slow",
            "Reading the journal took too long",
            "Ask for a shorter time, or try again.",
            retryable=True,
        )
    portion.more = portion.more or entries.cut_short
    return portion


def _wanted(entries: Entries, spec: LogSpec) -> Iterator[LogLine]:
    for entry in entries:
        line = parse_entry(entry, spec.units)
        if line is None or (spec.source is not None and line.source != spec.source):
            continue
        if spec.until is None or line.at <= spec.until:
            yield line


@contextmanager
def _entries(journal: Journal, spec: LogSpec, deadline: Deadline, *, backwards: bool) -> Iterator[Entries]:
    """Run journalctl for as long as the block reads; it is ended after a few seconds in any case."""
    entries = Entries()
    if not journal.descriptors:
        yield entries
        return
    seconds = min(LOOK_SECONDS, deadline.require("reading the journal"))
    program = _start(_command(journal, spec, backwards=backwards), journal)

    def cut_short() -> None:
        entries.cut_short = True
        program.kill()

    timer = threading.Timer(max(0.1, seconds), cut_short)
    timer.start()
    try:
        entries.output = program.stdout
        yield entries
    finally:
        timer.cancel()
        program.kill()
        program.communicate()


def _start(command: list[str], journal: Journal) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=journal.descriptors,
            env=ENVIRONMENT,
        )
    except OSError as problem:
        raise TaskFailure(
            "program_unavailable",
            f"{command[0]} cannot be started: {problem.strerror}",
            "Install util-linux and systemd on this host.",
        ) from problem


def _command(journal: Journal, spec: LogSpec, *, backwards: bool) -> list[str]:
    command = [*_WITHOUT_RIGHTS, "journalctl", "--quiet", "--no-pager", "--all", "--output=json"]
    command.append(f"--output-fields={','.join(FIELDS)}")
    command += [f"--file=/proc/self/fd/{descriptor}" for descriptor in journal.descriptors]
    command += [f"--unit={_pattern(unit)}" for unit in spec.units]
    if spec.cursor is not None:
        command.append(f"--after-cursor={spec.cursor}")
    elif not backwards:
        command.append(f"--since=@{_seconds(spec.since)}")
    if spec.until is not None:
        command.append(f"--until=@{_seconds(spec.until)}")
    if backwards:
        command.append("--reverse")
    return command


def _pattern(unit: str) -> str:
    """Return a unit's pattern. A template unit matches its instances, as in the footprint."""
    return unit.replace("@.", "@*.")


def _seconds(microseconds: int) -> str:
    return f"{microseconds // 1_000_000}.{microseconds % 1_000_000:06d}"
