"""The agent's own log: lines of JSON, and nothing that fails when nobody reads them."""

from __future__ import annotations

import contextlib
import json
import os
import sys

import pytest

from gpuaas_agent import log


def test_a_line_has_its_named_fields(capsys: pytest.CaptureFixture[str]) -> None:
    log.warning("file_not_removed", path="/x")
    line = json.loads(capsys.readouterr().err)
    assert (line["level"], line["event"], line["path"]) == ("warning", "file_not_removed", "/x")


def test_a_log_that_nobody_reads_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenant who is root stops journald: the release must go on."""
    read, write = os.pipe()
    os.close(read)
    broken = os.fdopen(write, "w", buffering=1)
    monkeypatch.setattr(sys, "stderr", broken)
    try:
        with pytest.raises(BrokenPipeError):
            os.write(write, b"x")
        for _ in range(2000):  # more than any buffer has
            log.event("task_started", text="x" * 100)
    finally:
        with contextlib.suppress(BrokenPipeError):
            broken.close()
