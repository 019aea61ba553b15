"""The framework for app controllers: write an `AppController`, run it with `main`. Needs `gpuaas-sdk[controller]`."""

from gpuaas_sdk.controller.app import AppController, Health, Watched
from gpuaas_sdk.controller.context import Context
from gpuaas_sdk.controller.failures import CommandFailed, Failed, HostUnreachable
from gpuaas_sdk.controller.hosts import Host, Ran
from gpuaas_sdk.controller.line import Line
from gpuaas_sdk.controller.metrics import Metrics
from gpuaas_sdk.controller.modes import Closed, Mode
from gpuaas_sdk.controller.process import ControllerSettings, connect, main, serve
from gpuaas_sdk.controller.replica import Replica
from gpuaas_sdk.generated.models import ControllerMember, UsageReport

__all__ = [
    "AppController",
    "Closed",
    "CommandFailed",
    "Context",
    "ControllerMember",
    "ControllerSettings",
    "Failed",
    "Health",
    "Host",
    "HostUnreachable",
    "Line",
    "Metrics",
    "Mode",
    "Ran",
    "Replica",
    "UsageReport",
    "Watched",
    "connect",
    "main",
    "serve",
]
