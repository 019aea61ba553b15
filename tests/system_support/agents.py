"""The simulated agents of the SDK's testing kit, under the name that these tests know."""

from gpuaas_sdk.testing.agents import SimulatedAgents

__all__ = ["SimulatedAgents"]
