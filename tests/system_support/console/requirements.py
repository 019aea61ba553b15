"""Checks what browser tests need from the machine. In CI a missing part is a failure, elsewhere the test is skipped."""

import os

import pytest

from system_support.console.browser import CHROMIUM
from system_support.documents import REPOSITORY

BUILT = REPOSITORY / "console/dist/index.html"


def require_browser() -> None:
    missing = [
        hint for path, hint in ((CHROMIUM, "apt-get install chromium"), (BUILT, "make console")) if not path.exists()
    ]
    if missing:
        message = f"a browser test needs: {', '.join(missing)}"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
