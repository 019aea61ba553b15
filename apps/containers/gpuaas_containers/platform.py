"""The container controller as one of the platform's own: it publishes nothing and serves every launchable app."""

import sys

from gpuaas_sdk.platform_apps import PlatformApp


def platform_app() -> PlatformApp:
    return PlatformApp(
        controller=(sys.executable, "-m", "gpuaas_containers"),
        serves_kind="launchable",
        # Most of an operation is waiting for a host that pulls.
        environment={"GPUAAS_CONCURRENCY": "32"},
    )
