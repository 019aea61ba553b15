"""Programs of the apps' packages, which the lab runs as people do."""

import sys
from pathlib import Path

from gpuaas_lab.errors import LabError


def program(name: str) -> str:
    """Return the path of a program that `make setup` installs."""
    found = Path(sys.executable).parent / name
    if not found.exists():
        raise LabError(f"{found} is missing: run `make setup`")
    return str(found)
