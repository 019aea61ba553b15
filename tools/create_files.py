"""A plugin of pytest that counts, for each kind of create call, the files of the server that take part in it.

PYTHONPATH=tools .venv/bin/python -m pytest -p create_files -p no:xdist -q server/tests/deletions/test_tenant_purge.py -k bill

It prints them, and their median with and without `kernel` and `work`: a row of decision 0031.
"""

import asyncio
import statistics
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

SERVER = Path(__file__).resolve().parents[1] / "server" / "gpuaas_server"
FOUNDATION = ("kernel", "work")
Message = MutableMapping[str, Any]
_files_of: dict[str, set[Path]] = {}


class _Counted:
    """The app, whose create calls are watched: POST answered with 201, by the name of their endpoint."""

    def __init__(self, app: Any) -> None:
        self.app, self.state = app, app.state

    async def __call__(self, scope: Message, receive: Callable[..., Any], send: Callable[..., Awaitable[None]]) -> None:
        statuses: list[int] = []

        async def note_status(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])
            await send(message)

        with _watched(asyncio.current_task()) as files:
            await self.app(scope, receive, note_status)
        name = getattr(scope.get("endpoint"), "__name__", "")
        if statuses == [201] and name.endswith("_create"):
            _files_of.setdefault(name, set()).update(files)


@contextmanager
def _watched(task: "asyncio.Task[Any] | None") -> Any:
    """Collect the files of the server whose functions run in this task."""
    names: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename not in names and asyncio.current_task() is task:
            names.add(frame.f_code.co_filename)

    files: set[Path] = set()
    sys.setprofile(note)
    try:
        yield files
    finally:
        sys.setprofile(None)
        files |= {path for path in map(Path, names) if path.is_relative_to(SERVER)}


def pytest_collection_finish() -> None:
    """Put the watch around the app of every test that serves one."""
    import httpx

    plain = httpx.ASGITransport.__init__

    def counted(self: httpx.ASGITransport, app: Any, *given: Any, **more: Any) -> None:
        plain(self, _Counted(app), *given, **more)

    httpx.ASGITransport.__init__ = counted  # type: ignore[method-assign]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    rows = []
    for name, files in sorted(_files_of.items()):
        own = [path for path in files if path.relative_to(SERVER).parts[0] not in FOUNDATION]
        rows.append((name, len(own), len(files)))
        terminalreporter.write_line(f"{name}: {len(own)} (all: {len(files)})")
    if rows:
        own, everything = (statistics.median_high(row[column] for row in rows) for column in (1, 2))
        terminalreporter.write_line(f"median of {len(rows)} kinds of create: {own} (all: {everything})")
