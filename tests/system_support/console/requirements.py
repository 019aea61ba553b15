"""What tests in a browser need of the machine. Where CI runs them, a missing part is a failure and not a pass."""

import os

import pytest

from system_support.console.browser import CHROMIUM
from system_support.documents import REPOSITORY

BUILT = REPOSITORY / "console/dist/index.html"


def require_browser() -> None:
    missing = [
        said for path, said in ((CHROMIUM, "apt-get install chromium"), (BUILT, "make console")) if not path.exists()
    ]
    if missing:
        said = f"a test in a browser needs: {', '.join(missing)}"
        pytest.fail(said) if os.environ.get("CI") else pytest.skip(said)
