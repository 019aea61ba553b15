"""The running server of the SDK's testing kit, under the name that these tests know."""

from pathlib import Path

from gpuaas_sdk.testing.ports import free_port
from gpuaas_sdk.testing.server import START_SECONDS, RunningServer

REPOSITORY = Path(__file__).parents[2]
__all__ = ["REPOSITORY", "START_SECONDS", "RunningServer", "free_port"]
