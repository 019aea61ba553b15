"""Finds the GPUs of a host and how they hang together, from sysfs and NVML.

What cannot be read is left out and named in a coded warning; discovery never fails as a whole.
"""

from gpuaas_agent.discovery.inventory import discover

__all__ = ["discover"]
