"""Remove databases in /var/lib/gpuaas of tests whose data directory is gone: `python -m tests_support.left_databases`.

A test's directory of pytest is closed to the database's account, so that the embedded server keeps its data elsewhere.
"""

import shutil
import tempfile
from pathlib import Path

KEPT_ELSEWHERE = Path("/var/lib/gpuaas")


def left_databases(base: Path = KEPT_ELSEWHERE) -> list[Path]:
    """Return those that belong to a directory below the temporary one that does not exist any more."""
    temporary = Path(tempfile.gettempdir()).resolve()
    found = []
    for note in base.glob("*/data-directory"):
        data_dir = Path(note.read_text().strip())
        if temporary in data_dir.parents and not data_dir.exists():
            found.append(note.parent)
    return found


if __name__ == "__main__":
    for home in left_databases():
        shutil.rmtree(home, ignore_errors=True)
