"""`python -m gpuaas_containers` runs the controller."""

from gpuaas_containers.controller import run

run()
