"""python -m gpuaas_cli"""

from gpuaas_cli.main import main

main()
