"""A real platform for an app team's tests: server, fleet, catalogue and controllers. Nothing here is a fake.

Needs `gpuaas-server` (and, for the simulated fleet, `gpuaas-agent`) in the same environment; they run as processes.
"""

from gpuaas_sdk.testing.agents import SimulatedAgents
from gpuaas_sdk.testing.catalog_app import CatalogApp, as_replica
from gpuaas_sdk.testing.crashes import CRASH_POINTS, Crash, CrashingReplica, crashing_replica
from gpuaas_sdk.testing.interruptions import Interruptions, interrupting_replicas
from gpuaas_sdk.testing.ports import free_port
from gpuaas_sdk.testing.recorded_host import RecordedHost
from gpuaas_sdk.testing.replicas import running_replica
from gpuaas_sdk.testing.sandbox import Sandbox
from gpuaas_sdk.testing.server import RunningServer

__all__ = [
    "CRASH_POINTS",
    "CatalogApp",
    "Crash",
    "CrashingReplica",
    "Interruptions",
    "RecordedHost",
    "RunningServer",
    "Sandbox",
    "SimulatedAgents",
    "as_replica",
    "crashing_replica",
    "free_port",
    "interrupting_replicas",
    "running_replica",
]
