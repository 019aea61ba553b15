"""What an app lacks is made by a command: its lines are progress, its last line says why it failed, and it ends with us,
as does all that it has started.
"""

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from gpuaas_sdk.platform_apps import controller_process
from gpuaas_sdk.platform_apps.declaration import AppNotReady
from gpuaas_sdk.platform_apps.preparation import Preparation

HANG = 60.0
# Starts a child that ignores a request to stop, and writes the child's number when it does so.
CHILD = """
import signal, subprocess, sys, time
code = "import os, signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); " \\
    "open(sys.argv[1], 'w').write(f'{{os.getpid()}} '); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", code, {file!r}], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while not open({file!r}, "a+").tell():
    time.sleep(0.02)
{then}
"""


async def _lines(command: str) -> list[str]:
    seen: list[str] = []

    async def hear(line: str) -> None:
        seen.append(line)

    await Preparation("tool", (sys.executable, "-c", command)).run(hear)
    return seen


async def test_each_line_is_passed_on() -> None:
    assert await _lines("print('first'); print(); print('second')") == ["first", "second"]


async def test_its_last_line_says_why_it_failed() -> None:
    with pytest.raises(AppNotReady, match="no network here"):
        await _lines("print('begun'); raise SystemExit('no network here')")
    with pytest.raises(AppNotReady, match="ended with 3"):
        await _lines("raise SystemExit(3)")


async def test_it_yields_to_the_platform_and_ends_when_nobody_waits_for_it(tmp_path: Path) -> None:
    file = tmp_path / "process"
    code = f"import os, time; open({str(file)!r}, 'w').write(f'{{os.getpid()}} {{os.nice(0)}}'); time.sleep(600)"
    running = asyncio.create_task(_lines(code))
    process, niceness = await _numbers_in(file, 2)
    assert niceness > os.nice(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not os.path.exists(f"/proc/{process}")  # noqa: ASYNC240


async def _numbers_in(file: Path, count: int) -> list[int]:
    deadline = time.monotonic() + HANG
    while len(found := _numbers(file)) < count:
        assert time.monotonic() < deadline, "it did not start"
        await asyncio.sleep(0.05)
    return found


def _numbers(file: Path) -> list[int]:
    return [int(one) for one in file.read_text().split()] if file.exists() else []


def _is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


async def test_its_children_end_with_it_when_nobody_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controller_process, "STOP_SECONDS", 1.0)
    file = tmp_path / "child"
    running = asyncio.create_task(_lines(CHILD.format(file=str(file), then="time.sleep(600)")))
    [child] = await _numbers_in(file, 1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not _is_running(child)


@pytest.mark.parametrize(("then", "fails"), [("", False), ("raise SystemExit('no network here')", True)])
async def test_its_children_end_when_it_has_ended_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str, fails: bool
) -> None:
    monkeypatch.setattr(controller_process, "STOP_SECONDS", 1.0)
    file = tmp_path / "child"
    ended = await asyncio.gather(_lines(CHILD.format(file=str(file), then=then)), return_exceptions=True)
    assert isinstance(ended[0], AppNotReady) is fails
    assert not _is_running(int(file.read_text()))
