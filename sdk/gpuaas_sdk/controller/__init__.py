"""The framework for app controllers: write an `AppController`, run it with `main`. Needs `gpuaas-sdk[controller]`."""

from gpuaas_sdk.controller.app import AppController, Health, InstanceSnapshot
from gpuaas_sdk.controller.artifact import PublishedArtifact
from gpuaas_sdk.controller.client import ControllerClient
from gpuaas_sdk.controller.context import Context
from gpuaas_sdk.controller.counters import Counter, UsageCounters
from gpuaas_sdk.controller.failures import CommandFailed, Failed, HostUnreachable
from gpuaas_sdk.controller.footprints import InstalledThings
from gpuaas_sdk.controller.host_installer import HostInstaller
from gpuaas_sdk.controller.hosts import CommandResult, Host
from gpuaas_sdk.controller.metrics import Metrics
from gpuaas_sdk.controller.modes import ClosedOperation, Mode
from gpuaas_sdk.controller.process import ControllerSettings, connect, main, serve
from gpuaas_sdk.controller.replica import Replica
from gpuaas_sdk.generated.models import ControllerMember, UsageReport

__all__ = [
    "AppController",
    "ClosedOperation",
    "CommandFailed",
    "CommandResult",
    "Context",
    "ControllerClient",
    "ControllerMember",
    "ControllerSettings",
    "Counter",
    "Failed",
    "Health",
    "Host",
    "HostInstaller",
    "HostUnreachable",
    "InstalledThings",
    "InstanceSnapshot",
    "Metrics",
    "Mode",
    "PublishedArtifact",
    "Replica",
    "UsageCounters",
    "UsageReport",
    "connect",
    "main",
    "serve",
]
