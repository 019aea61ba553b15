"""A real platform for an app team's tests: server, fleet, catalogue and controllers. Nothing in here is a fake.

Needs `gpuaas-server` (and, for the simulated fleet, `gpuaas-agent`) in the same environment; they run as processes.
"""

from gpuaas_sdk.testing.agents import SimulatedAgents
from gpuaas_sdk.testing.mortal import MOMENTS, Death, Mortal, mortal
from gpuaas_sdk.testing.ports import free_port
from gpuaas_sdk.testing.repeatable import Interruptions, proving
from gpuaas_sdk.testing.replicas import running
from gpuaas_sdk.testing.server import RunningServer
from gpuaas_sdk.testing.stage import Stage, as_replica
from gpuaas_sdk.testing.world import World

__all__ = [
    "MOMENTS",
    "Death",
    "Interruptions",
    "Mortal",
    "RunningServer",
    "SimulatedAgents",
    "Stage",
    "World",
    "as_replica",
    "free_port",
    "mortal",
    "proving",
    "running",
]
