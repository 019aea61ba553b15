"""`python -m gpuaas_lab` is `gpuaas-lab`."""

import sys

from gpuaas_lab.cli import main

sys.exit(main())
