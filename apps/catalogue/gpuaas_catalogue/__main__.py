"""`python -m gpuaas_catalogue` is the command `gpuaas-catalogue`."""

from gpuaas_catalogue.command import main

main()
