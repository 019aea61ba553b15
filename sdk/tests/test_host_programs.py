"""Programs of an app on a host: they import their own modules and the SDK's, and the SDK keeps them apart."""

import subprocess
from pathlib import Path

import pytest

from gpuaas_sdk.controller import host_program

TURNS = """
import sys, time
from app_words import WORD
from host_engine import images_locked
with images_locked(), open(sys.argv[1], "a", buffering=1) as file:
    print(WORD, "in", file=file)
    time.sleep(0.05)
    print(WORD, "out", file=file)
"""
WAITS = """
from host_engine import images_locked
with images_locked():
    print("in", flush=True)
    input()
"""

LATE = """
from host_engine import LockTimeout, images_locked
try:
    with images_locked(0.2):
        print("in")
except LockTimeout:
    print("late")
"""


def test_programs_of_two_apps_are_never_at_the_images_of_a_host_at_the_same_time(tmp_path: Path) -> None:
    file = tmp_path / "turns"
    commands = [host_program(TURNS, {"app_words": f"WORD = 'app-{number}'"}) for number in range(6)]
    running = [subprocess.Popen([*command, str(file)]) for command in commands]
    assert [one.wait(60) for one in running] == [0] * len(running)
    turns = file.read_text().splitlines()
    assert {one.split()[0] for one in turns} == {f"app-{number}" for number in range(6)}
    assert turns == [line for one in turns[::2] for line in (one, one.replace(" in", " out"))], turns


def test_a_program_waits_for_the_lock_until_its_deadline_and_one_that_is_killed_gives_it_back(tmp_path: Path) -> None:
    first = subprocess.Popen(host_program(WAITS, {}), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert first.stdout is not None
    assert first.stdout.readline() == b"in\n"
    late = subprocess.run(host_program(LATE, {}), timeout=60, check=True, capture_output=True)
    assert late.stdout == b"late\n", "it waits until its deadline only"
    first.kill()
    first.wait(60)
    second = host_program(TURNS, {"app_words": "WORD = 'next'"})
    assert subprocess.run([*second, str(tmp_path / "turns")], timeout=60, check=False).returncode == 0


def test_an_app_cannot_take_the_name_of_a_module_of_the_sdk() -> None:
    with pytest.raises(ValueError, match="host_engine"):
        host_program("", {"host_engine": ""})
