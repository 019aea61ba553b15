"""What an app lacks is made by a command: its lines are progress, its last line says why it failed, and it ends with us."""

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from gpuaas_sdk.platform_apps.declaration import AppNotReady
from gpuaas_sdk.platform_apps.preparation import Preparation

HANG = 60.0


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
    deadline = time.monotonic() + HANG
    while not file.exists() or len(file.read_text().split()) < 2:
        assert time.monotonic() < deadline, "it did not start"
        await asyncio.sleep(0.05)
    process, niceness = map(int, file.read_text().split())
    assert niceness > os.nice(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not os.path.exists(f"/proc/{process}")  # noqa: ASYNC240
