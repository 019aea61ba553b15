"""Structured logs: one JSON object a line on stderr, with the correlation id, and never a secret."""

import logging
import sys
import time
from contextvars import ContextVar

import orjson

correlation_id: ContextVar[str] = ContextVar("correlation_id", default="-")
_SECRET_WORDS = ("password", "secret", "token", "private", "authorization", "bundle", "api_key", "cookie")
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def redact(fields: dict[str, object]) -> dict[str, object]:
    """Return a copy without the values of secret-sounding names, at any depth."""
    clean: dict[str, object] = {}
    for key, value in fields.items():
        if any(word in key.lower() for word in _SECRET_WORDS) and isinstance(value, (str, bytes)):
            clean[key] = "[redacted]"
        elif isinstance(value, dict):
            clean[key] = redact(value)
        else:
            clean[key] = value
    return clean


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        extra = {k: v for k, v in vars(record).items() if k not in _STANDARD}
        line: dict[str, object] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "correlation_id": correlation_id.get(),
            **redact(extra),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


def configure_logs(level: str) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for noisy in ("uvicorn.access", "httpx", "httpcore", "alembic", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    # psycopg and its pool log a warning for each lost connection; database_health logs one line for all of them.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
