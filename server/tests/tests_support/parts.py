"""Foreign programs that tests hold ours against. tools/test-parts installs them; what is not there skips its tests."""

import os
import shutil
from pathlib import Path

import pytest

PARTS = Path(__file__).parents[3] / "var" / "parts"


def part(name: str) -> str:
    found = shutil.which(name, path=f"{PARTS}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        pytest.skip(f"{name} is not installed: tools/test-parts does it")
    return found
