"""`python -m benchmarks [names…] [--quick]`: measure, print the table, write RESULTS.md after a full run."""

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import nan

from rich.console import Console

from benchmarks import (
    claims,
    console,
    fanout,
    instances,
    operations,
    polling,
    reads,
    report,
    slurm,
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
    "instances": Benchmark(instances.run, instances.HOW),
    "fanout": Benchmark(fanout.run, fanout.HOW),
    "console": Benchmark(console.run, console.HOW),
    "ssh": Benchmark(ssh.run, ssh.HOW),
    "terminals": Benchmark(terminals.run, terminals.HOW),
    "slurm": Benchmark(slurm.run, slurm.HOW),
    "startup": Benchmark(startup.run, startup.HOW),
}


def _measured(name: str, size: Size) -> list[Figure]:
    """One benchmark that cannot be run on this machine at this moment does not take the others with it."""
    try:
        return ALL[name].run(size)
    except Exception as error:
        Console(stderr=True).print_exception()
        return [Figure(name, nan, note=f"not measured: {type(error).__name__}: {error}"[:200])]


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *ALL], help="which ones; all when none is named")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: only shows that the harness works")
    parser.add_argument("--rounds", type=int, help="how often each is repeated")
    parser.add_argument("--agents", type=int, help="how many simulated agents poll")
    arguments = parser.parse_args()
    size = Size.smoke() if arguments.quick else Size()
    if arguments.rounds:
        size = replace(size, rounds=arguments.rounds)
    if arguments.agents:
        size = replace(size, agents=arguments.agents)
    load = os.getloadavg()[0]
    sections: dict[str, tuple[str, list[Figure]]] = {}
    for name in arguments.names or list(ALL):
        Console(stderr=True).log(f"measuring {name}")
        sections[name] = (ALL[name].how, _measured(name, size))
        report.show(sections[name][1])
    if not arguments.quick and set(sections) == set(ALL):
        report.write(sections, load)


if __name__ == "__main__":
    main()
