"""The token that opens an app: made at its first start and kept in its volume, readable by the app's user alone.

It never appears in the command line, the environment of the container or the log. `show-token` prints it.
"""

import os
import secrets
from pathlib import Path

TOKEN_FILE = Path("/data/.token")


def ensure_token(file: Path = TOKEN_FILE) -> str:
    """Return the token; the first call makes it. A process that dies in between leaves either none or a complete one."""
    if not file.exists():
        draft = file.with_name(f"{file.name}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as handle:
            handle.write(secrets.token_urlsafe(32))
            handle.flush()
            os.fsync(handle.fileno())
        draft.rename(file)
    return file.read_text().strip()
