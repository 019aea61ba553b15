"""The framework for app controllers: write an `AppController`, run it with `main`. Needs `gpuaas-sdk[controller]`."""

from gpuaas_sdk.controller.app import AppController, Health, InstanceSnapshot
from gpuaas_sdk.controller.artifact import ImagePull, PublishedArtifact, SignatureKey, SignaturePolicy
from gpuaas_sdk.controller.client import ControllerClient
from gpuaas_sdk.controller.context import Context
from gpuaas_sdk.controller.counters import Counter, UsageCounters
from gpuaas_sdk.controller.failures import CommandFailed, Failed, HostUnreachable
from gpuaas_sdk.controller.footprints import InstalledThings
from gpuaas_sdk.controller.host_counts import MemberCounts, counts_folder, counts_path, parse_counts
from gpuaas_sdk.controller.host_installer import HostInstaller
from gpuaas_sdk.controller.hosts import CommandResult, Host
from gpuaas_sdk.controller.hostside import host_program
from gpuaas_sdk.controller.metrics import Metrics
from gpuaas_sdk.controller.modes import ClosedOperation, Mode
from gpuaas_sdk.controller.process import ControllerSettings, connect, main, serve
from gpuaas_sdk.controller.replica import Replica
from gpuaas_sdk.controller.secrets import AppSecret
from gpuaas_sdk.generated.models import ControllerMember, UsageReport

__all__ = [
    "AppController",
    "AppSecret",
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
    "ImagePull",
    "InstalledThings",
    "InstanceSnapshot",
    "MemberCounts",
    "Metrics",
    "Mode",
    "PublishedArtifact",
    "Replica",
    "SignatureKey",
    "SignaturePolicy",
    "UsageCounters",
    "UsageReport",
    "connect",
    "counts_folder",
    "counts_path",
    "host_program",
    "main",
    "parse_counts",
    "serve",
]
