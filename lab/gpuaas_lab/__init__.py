"""A fleet of real little hosts on one machine, for demos and tests.

Each host is a booted system of its own with pretend GPUs; leaving, even by kill -9, leaves nothing for good.
"""

from gpuaas_lab.cleanup import leftovers
from gpuaas_lab.errors import LabError
from gpuaas_lab.fleet import Fleet
from gpuaas_lab.host import Host, wait_for_ssh
from gpuaas_lab.package_layer import PackageLayer

__all__ = ["Fleet", "Host", "LabError", "PackageLayer", "leftovers", "wait_for_ssh"]
