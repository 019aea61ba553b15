"""A simulated fleet: thousands of nodes in one process that speak the real agent protocol.

Nothing here touches a host. It runs in the project's environment, for tests and benchmarks.
"""

from gpuaas_agent.sim.fleet import SimFleet
from gpuaas_agent.sim.node import TaskReceipt

__all__ = ["SimFleet", "TaskReceipt"]
