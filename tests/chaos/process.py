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

OFFSET = struct.Struct(
    "d"
)  # in the file twice: what the clock is to be stepped by, and what it was when it was last read


def write_offset(file: Path, seconds: float) -> None:
    """Step the clock of the process that reads this file; 0 is the true time."""
    if not file.exists():
        file.write_bytes(bytes(2 * OFFSET.size))
    with file.open("r+b") as opened:
        opened.write(OFFSET.pack(seconds))


def used_offset(file: Path) -> float:
    """The step that was in the time which the process took last."""
    (seconds,) = OFFSET.unpack_from(file.read_bytes(), OFFSET.size)
    return float(seconds)


def install_clock(file: Path) -> None:
    """Must run before `kernel.context` is imported: its `Platform` takes the clock from the module then."""
    with file.open("r+b") as opened:
        shared = mmap.mmap(opened.fileno(), 2 * OFFSET.size)
    true_time = clock.utc_now

    def stepped() -> datetime:
        (seconds,) = OFFSET.unpack_from(shared)
        OFFSET.pack_into(shared, OFFSET.size, seconds)
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
