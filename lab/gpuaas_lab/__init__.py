"""A fleet of real small hosts on one machine, for demos and tests.

Each host is a booted system with simulated GPUs. Whatever a fleet leaves behind, even after kill -9, is removed later.
"""

from gpuaas_lab.cleanup import leftovers
from gpuaas_lab.container_engine import CONTAINER_ENGINE
from gpuaas_lab.errors import LabError
from gpuaas_lab.fleet import Fleet
from gpuaas_lab.host import Host, wait_for_ssh
from gpuaas_lab.package_layer import PackageLayer

__all__ = ["CONTAINER_ENGINE", "Fleet", "Host", "LabError", "PackageLayer", "leftovers", "wait_for_ssh"]
