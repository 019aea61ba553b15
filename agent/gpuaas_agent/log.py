"""Structured logs: one JSON object per line on stderr, with the correlation id of the current task.

Only named fields are written, so that no secret gets in through a formatted object.
"""

from __future__ import annotations

import contextlib
import contextvars
import json
import sys
import threading
from datetime import UTC, datetime

correlation_id: contextvars.ContextVar[str] = contextvars.ContextVar("correlation_id", default="")
_write_lock = threading.Lock()


def event(name: str, *, level: str = "info", **fields: object) -> None:
    record: dict[str, object] = {
        "ts": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "level": level,
        "event": name,
    }
    correlation = correlation_id.get()
    if correlation:
        record["correlation_id"] = correlation
    record.update(fields)
    line = json.dumps(record, default=str) + "\n"
    # Whoever is root on the host can stop what reads the log; a line that nobody takes must not end a task.
    with _write_lock, contextlib.suppress(OSError):
        sys.stderr.write(line)
        sys.stderr.flush()


def warning(name: str, **fields: object) -> None:
    event(name, level="warning", **fields)


def error(name: str, **fields: object) -> None:
    event(name, level="error", **fields)
