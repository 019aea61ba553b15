"""What the processes load before they answer: people wait for it, and each of them keeps it in memory."""

import subprocess
import sys

import pytest

# Only who migrates needs the first two, and only who calls outward the third.
HEAVY = ("sqlalchemy", "alembic", "httpx")


@pytest.mark.parametrize("process", ["api", "worker"])
def test_a_process_loads_nothing_heavy_that_it_may_never_need(process: str) -> None:
    look = f"import sys, gpuaas_server.processes.{process}; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"
