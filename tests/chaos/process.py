"""A server process under test: `python -m chaos.process --clock FILE [--fault NAME] api|worker`.

It is the real `gpuaas-server` with two additions that the server knows nothing about: its clock can be stepped while it
runs (through `kernel.clock`, the one place that reads the time), and a deliberate fault can be put in before it starts.
"""

import argparse
import mmap
import struct
import sys
from datetime import datetime, timedelta
from pathlib import Path

from gpuaas_server.kernel import clock

OFFSET = struct.Struct("d")


def write_offset(file: Path, seconds: float) -> None:
    """Step the clock of the process that reads this file; 0 is the true time."""
    with file.open("r+b" if file.exists() else "w+b") as opened:
        opened.write(OFFSET.pack(seconds))


def install_clock(file: Path) -> None:
    """Must run before `kernel.context` is imported: its `Platform` takes the clock from the module then."""
    with file.open("rb") as opened:
        shared = mmap.mmap(opened.fileno(), OFFSET.size, access=mmap.ACCESS_READ)
    true_time = clock.utc_now

    def stepped() -> datetime:
        (seconds,) = OFFSET.unpack(shared[: OFFSET.size])
        return true_time() + timedelta(seconds=seconds)

    clock.utc_now = stepped


def main() -> None:
    parser = argparse.ArgumentParser(prog="chaos.process", description=__doc__)
    parser.add_argument("--clock", type=Path, required=True)
    parser.add_argument("--fault", action="append", default=[])
    parser.add_argument("command")
    arguments = parser.parse_args()
    install_clock(arguments.clock)
    from chaos import faults
    from gpuaas_server import main as server

    for name in arguments.fault:
        faults.FAULTS[name]()
    sys.argv = ["gpuaas-server", arguments.command]
    server.main()


if __name__ == "__main__":
    main()
