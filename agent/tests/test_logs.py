"""Log lines of a host: what is taken of an entry, what is refused, and pages of a simulated host."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpuaas_agent.commands import Deadline
from gpuaas_agent.failures import SpecInvalid, TaskFailure
from gpuaas_agent.host.confined_files import ConfinedFiles
from gpuaas_agent.logs.journal import MOST_FILES, Journal, open_journal
from gpuaas_agent.logs.lines import LONGEST_ENTRY, LONGEST_TEXT, parse_entry, read_entries
from gpuaas_agent.logs.read_slots import JournalBusy, ReadSlots
from gpuaas_agent.logs.registry import MOST_OF_ALLOCATION, LogRegistry
from gpuaas_agent.logs.spec import LogSpec, parse_logs
from gpuaas_agent.sim.sim_lines import after, lines_of, portion

CURSOR = "s=0a;i=1f;b=2;m=3;t=4;x=5"
UNITS = ("app-*.service", "gpuaas-*.service")
SPEC: dict[str, object] = {
    "read_id": "lgr_1",
    "ticket": "00ff",
    "allocation_id": "alc_1",
    "shape": "baremetal",
    "units": ["app.service"],
    "since": 1_000_000,
    "limit": 10,
    "order": "newest",
}


def entry(**fields: Any) -> bytes:
    known = {"__CURSOR": CURSOR, "__REALTIME_TIMESTAMP": "17", "_SYSTEMD_UNIT": "app-1.service", "MESSAGE": "hi"}
    return json.dumps(known | fields).encode()


def test_a_line_is_of_a_unit_of_the_app_or_of_systemd_about_one() -> None:
    line = parse_entry(entry(PRIORITY="3"), UNITS)
    assert line is not None
    assert (line.cursor, line.at, line.source, line.text, line.priority) == (CURSOR, 17, "app-1.service", "hi", 3)
    about = parse_entry(entry(_SYSTEMD_UNIT="init.scope", UNIT="app-2.service", _PID="1"), UNITS)
    assert about is not None
    assert about.source == "app-2.service"


@pytest.mark.parametrize(
    "fields",
    [
        {"_SYSTEMD_UNIT": "ssh.service"},
        {"_SYSTEMD_UNIT": "gpuaas-agent.service"},  # the agent's own, though a pattern would reach it
        {"_SYSTEMD_UNIT": "ssh.service", "UNIT": "app-1.service", "_PID": "77"},  # only systemd speaks about others
        {"__CURSOR": "s=1;x=--rm"},
        {"__REALTIME_TIMESTAMP": "soon"},
    ],
)
def test_what_is_of_another_unit_or_broken_is_no_line(fields: dict[str, str]) -> None:
    assert parse_entry(entry(**fields), UNITS) is None
    assert parse_entry(b"[1]", UNITS) is None


def test_bytes_and_long_texts_are_bounded() -> None:
    binary = parse_entry(entry(MESSAGE=[104, 105, 255]), UNITS)
    assert binary is not None
    assert binary.text == "hi\ufffd"
    long = parse_entry(entry(MESSAGE="x" * 50_000), UNITS)
    assert long is not None
    assert (len(long.text), long.cut) == (LONGEST_TEXT, True)


def test_an_entry_of_ten_megabytes_is_named_and_never_held_whole() -> None:
    inner = '{"__CURSOR":"s=f;i=f","_SYSTEMD_UNIT":"app-9.service"}'
    huge = json.dumps(
        {"MESSAGE": inner + "x" * (10 << 20), "__CURSOR": CURSOR, "__REALTIME_TIMESTAMP": "9"}, separators=(",", ":")
    )
    huge = huge[:-1] + ',"_SYSTEMD_UNIT":"app-1.service"}'
    found = list(read_entries(io.BytesIO(huge.encode() + b"\n" + entry() + b"\n")))
    assert len(found) == 2
    assert len(found[0]) < 2 * LONGEST_ENTRY
    line = parse_entry(found[0], UNITS)
    assert line is not None
    assert (line.cursor, line.source, line.cut) == (CURSOR, "app-1.service", True)
    assert "not shown" in line.text


@pytest.mark.parametrize(
    "change",
    [
        {"units": []},
        {"units": ["--rotate"]},
        {"cursor": "--since=x"},
        {"limit": 501},
        {"since": "now"},
        {"source": "-x"},
        {"ticket": "../x"},
        {"read_id": "../x"},
    ],
)
def test_a_spec_that_could_be_an_option_or_a_path_is_refused(change: dict[str, object]) -> None:
    assert parse_logs(SPEC).units == ("app.service",)
    with pytest.raises(SpecInvalid):
        parse_logs(SPEC | change)


def test_journal_files_are_opened_below_the_root_and_links_lead_nowhere_else(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    journal = root / "var/log/journal/abc"
    for folder in (outside, journal):
        folder.mkdir(parents=True)
    (outside / "system.journal").write_text("the host's")
    (journal / "system.journal").write_text("own")
    (journal / "system@1.journal").symlink_to(outside / "system.journal")
    (journal / "user-1000.journal").write_text("a person's")
    os.mkfifo(journal / "system@2.journal")
    (root / "run/log").mkdir(parents=True)
    (root / "run/log/journal").symlink_to(outside)
    with open_journal(ConfinedFiles(root)) as opened:
        assert isinstance(opened, Journal)
        assert [os.read(one, 100) for one in opened.descriptors] == [b"own"]


def test_of_many_journal_files_the_one_that_is_written_and_the_newest_are_opened(tmp_path: Path) -> None:
    journal = tmp_path / "var/log/journal/abc"
    journal.mkdir(parents=True)
    (journal / "system.journal").write_text("now")
    for number in range(2 * MOST_FILES):
        series = f"{1 - number % 2:032x}"  # a journal that began anew has another one, which says nothing of its age
        (journal / f"system@{series}-{number:016x}-{0x5000 + number:016x}.journal").write_text(str(number))
    with open_journal(ConfinedFiles(tmp_path)) as opened:
        found = [os.read(one, 100).decode() for one in opened.descriptors]
    assert found == ["now", *(str(number) for number in range(2 * MOST_FILES - 1, MOST_FILES, -1))]


def test_an_allocation_has_one_place_and_who_waits_for_one_has_no_file_open(tmp_path: Path) -> None:
    slots = ReadSlots(2)
    with slots.acquire_slot("alc_1", 1.0):
        with pytest.raises(JournalBusy), slots.acquire_slot("alc_1", 0.01):
            pass
        with slots.acquire_slot("alc_2", 0.01), pytest.raises(JournalBusy), slots.acquire_slot("alc_3", 0.01):
            pass
        with slots.acquire_slot("alc_3", 0.01):
            pass
    opened: list[str] = []
    registry = LogRegistry(lambda _, __: {"watched": True})

    def files() -> ConfinedFiles:
        opened.append("files")
        return ConfinedFiles(tmp_path)

    with registry._read_slots.acquire_slot("alc_1", 1.0), pytest.raises(JournalBusy):
        registry.read(parse_logs(SPEC), files, Deadline.after(0.2))
    assert not opened
    registry.read(parse_logs(SPEC), files, Deadline.after(5.0))
    assert opened == ["files"]


def test_followers_of_one_allocation_are_limited_and_a_release_ends_them(tmp_path: Path) -> None:
    registry = LogRegistry(lambda _, __: {"watched": True})
    spec = parse_logs(SPEC | {"follow": True})

    def follow(number: int, allocation_id: str = "alc_1") -> str:
        wanted: LogSpec = replace(spec, read_id=f"lgr_{number}", allocation_id=allocation_id)
        return registry.read(wanted, lambda: ConfinedFiles(tmp_path), Deadline.after(10.0))

    for number in range(MOST_OF_ALLOCATION):
        assert follow(number).endswith("followed")
    with pytest.raises(TaskFailure, match="follow the logs"):
        follow(100)
    assert follow(101, "alc_2").endswith("followed")
    assert registry.end_allocation("alc_1") == MOST_OF_ALLOCATION
    assert registry.end_allocation("alc_2") == 1


def test_pages_of_a_simulated_host_join_without_a_gap_in_both_orders() -> None:
    spec = parse_logs(SPEC | {"since": 100_000_000, "limit": 7})
    whole = [line.cursor for line in lines_of(replace(spec, order="oldest", limit=500), 200.0)]
    assert len(whole) == 51
    forwards: list[str] = []
    step = replace(spec, order="oldest")
    while lines := lines_of(step, 200.0):
        forwards += [line.cursor for line in lines]
        step = replace(after(step, lines), limit=7)
    backwards: list[str] = []
    step = spec
    while lines := lines_of(step, 200.0):
        backwards = [line.cursor for line in lines] + backwards
        step = replace(step, cursor=lines[0].cursor)
    assert forwards == backwards == whole
    assert portion(spec, lines_of(spec, 200.0))["more"] is True
