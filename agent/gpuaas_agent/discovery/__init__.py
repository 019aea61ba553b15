"""Discovers the GPUs of a host and their topology, from sysfs and NVML.

An unreadable part is left out and named in a coded warning; discovery as a whole never fails.
"""

from gpuaas_agent.discovery.inventory import discover

__all__ = ["discover"]
