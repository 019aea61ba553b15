"""The start of a process, and the one line of the log that says why it could not start."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

log = logging.getLogger("gpuaas.start")
FAILED = 1


class StartFailed(RuntimeError):
    """A failure that an operator can fix; its text says how. It needs no traceback."""


@contextmanager
def report_failures() -> Iterator[None]:
    """End the process with a line of JSON and an exit code that is not zero when it cannot run."""
    try:
        yield
    except StartFailed as error:
        log.error(f"cannot run: {error}")
        raise SystemExit(FAILED) from None
    except Exception as error:
        known = _sentence_of(error)
        if known:
            log.error(f"cannot run: {known}")
        else:
            log.critical("ended by an error that nobody expected", exc_info=error)
        raise SystemExit(FAILED) from None


def _sentence_of(error: Exception) -> str:
    """Return the sentence for a library's error that an operator can fix. Errors go by name: most processes never load them."""
    kind = type(error).__name__
    if kind == "ValidationError" and hasattr(error, "errors"):
        faults = [
            f"GPUAAS_{'.'.join(str(part) for part in fault['loc']).upper()}: {fault['msg']}" for fault in error.errors()
        ]
        return f"wrong settings: {'; '.join(faults)}; `gpuaas-server settings` explains each"
    if kind == "InvalidTag":
        return (
            "the master key is not the one of this database; put back the key file (docs/howto/back-up-and-restore.md)"
        )
    if isinstance(error, OSError) and not hasattr(error, "sqlstate"):
        return f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}"
    if hasattr(error, "sqlstate"):
        from gpuaas_server.kernel.database_health import describe_failure

        return f"{describe_failure(error)} Check GPUAAS_DATABASE_URL, and the database's own log"
    return ""
