"""Echo as one of the platform's own apps: what its package publishes and runs, see `gpuaas_sdk.platform_apps`."""

import sys
from pathlib import Path

from gpuaas_sdk.platform_apps import PlatformApp

_FOLDER = Path(__file__).parent


def platform_app() -> PlatformApp:
    return PlatformApp(
        manifest=(_FOLDER / "manifest.yaml").read_text(),
        artifact=_FOLDER / "echod",
        is_example=True,
        controller=(sys.executable, "-m", "gpuaas_echo.controller"),
    )
