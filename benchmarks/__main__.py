"""`python -m benchmarks [names…] [--quick]`: measure, print the table, and save each benchmark's figures.

A run of all benchmarks writes RESULTS.md. A full run may also be made in pieces, on the same machine: `--collect` writes
RESULTS.md from the figures saved last. Figures of `--quick` are not saved.
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import nan

from rich.console import Console

from benchmarks import (
    blobs,
    claims,
    console,
    controllers,
    fairness,
    fanout,
    instances,
    launch,
    machine,
    operations,
    polling,
    reads,
    recovery,
    release,
    report,
    saved,
    slurm,
    soak,
    ssh,
    startup,
    terminals,
)
from benchmarks.figures import Figure, Size


@dataclass(frozen=True, slots=True)
class Benchmark:
    run: Callable[[Size], list[Figure]]
    how: str


ALL = {
    "claims": Benchmark(claims.run, claims.HOW),
    "reads": Benchmark(reads.run, reads.HOW),
    "polling": Benchmark(polling.run, polling.HOW),
    "operations": Benchmark(operations.run, operations.HOW),
    "controllers": Benchmark(controllers.run, controllers.HOW),
    "instances": Benchmark(instances.run, instances.HOW),
    "fanout": Benchmark(fanout.run, fanout.HOW),
    "fairness": Benchmark(fairness.run, fairness.HOW),
    "console": Benchmark(console.run, console.HOW),
    "ssh": Benchmark(ssh.run, ssh.HOW),
    "release": Benchmark(release.run, release.HOW),
    "terminals": Benchmark(terminals.run, terminals.HOW),
    "slurm": Benchmark(slurm.run, slurm.HOW),
    "launch": Benchmark(launch.run, launch.HOW),
    "blobs": Benchmark(blobs.run, blobs.HOW),
    "startup": Benchmark(startup.run, startup.HOW),
    "soak": Benchmark(soak.run, soak.HOW),
    "recovery": Benchmark(recovery.run, recovery.HOW),
}


def _measured(name: str, size: Size) -> list[Figure]:
    """Run one benchmark; a failure is reported and does not stop the others."""
    try:
        return ALL[name].run(size)
    except Exception as error:
        Console(stderr=True).print_exception()
        return [Figure(name, nan, note=f"not measured: {type(error).__name__}: {error}"[:200])]


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *ALL], help="the benchmarks to run; default: all")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, which only show that the harness works")
    parser.add_argument("--rounds", type=int, help="number of rounds")
    parser.add_argument("--agents", type=int, help="number of simulated agents that poll")
    parser.add_argument(
        "--cycles", type=int, help="number of allocations that the soak creates and releases; at least ten"
    )
    parser.add_argument("--blob-gib", type=int, help="size of the blob that a host downloads, in GiB")
    parser.add_argument("--collect", action="store_true", help="measure nothing more, and write RESULTS.md")
    arguments = parser.parse_args()
    if arguments.collect:
        write_results()
        return
    # A signal raises an exception, so that no server or fleet is left behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    size = Size.smoke() if arguments.quick else Size()
    if arguments.rounds:
        size = replace(size, rounds=arguments.rounds)
    if arguments.agents:
        size = replace(size, agents=arguments.agents)
    if arguments.blob_gib:
        size = replace(size, blob_gib=arguments.blob_gib)
    if arguments.cycles:
        size = replace(size, cycles=max(10, arguments.cycles))
    # One client stands for many tenants where nothing else is said; `fairness` measures at the pace that a tenant has.
    os.environ.setdefault("GPUAAS_TENANT_CHANGES_PER_SECOND", "100000")
    names = arguments.names or list(ALL)
    for name in names:
        measure(name, size)
    if not arguments.quick and set(names) == set(ALL):
        write_results()


def measure(name: str, size: Size) -> None:
    """Run one benchmark, show its figures, and save them unless the run was a quick one."""
    storage = machine.measure_storage(1 if size.quick else machine.PGBENCH_SECONDS)
    speed = machine.measure_speed()
    Console(stderr=True).log(f"measuring {name}; the machine: {speed}; {storage}")
    figures = _measured(name, size)
    report.show(figures)
    if not size.quick:
        saved.save(saved.now(name, figures, speed, storage, size))


def write_results() -> None:
    try:
        sections = saved.collect(list(ALL))
    except saved.NotComparable as error:
        sys.exit(f"RESULTS.md is not written: {error}")
    report.write(sections, {name: benchmark.how for name, benchmark in ALL.items()})


if __name__ == "__main__":
    main()
