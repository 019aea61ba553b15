"""Foreign programs that tests hold ours against: tools/setup and tools/test-parts install them.

Where one is missing, its tests are skipped on a developer's machine; CI must run them, so there they fail.
"""

import os
import shutil
from pathlib import Path

import pytest

PARTS = Path(__file__).parents[3] / "var" / "parts" / "bin"
_FROM = dict.fromkeys(("docker-registry", "ssh-keygen"), "tools/setup, as root on Debian,") | dict.fromkeys(
    ("qemu-system-x86_64", "qemu-img"), "GPUAAS_TEST_SLOW=1 tools/test-parts, as root on Debian,"
)


def part(name: str) -> str:
    """The path of the program."""
    found = shutil.which(name, path=f"{PARTS}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is not None:
        return found
    why = f"{name} is not installed: {_FROM.get(name, 'tools/test-parts')} does it"
    if os.environ.get("CI"):
        pytest.fail(f"{why}, and CI must run this test")
    pytest.skip(why)
