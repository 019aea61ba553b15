"""Command line of the simulated fleet."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
from pathlib import Path

from gpuaas_agent import log
from gpuaas_agent.sim.fleet import SimFleet


def main() -> int:
    parser = argparse.ArgumentParser(prog="gpuaas-sim-agent", description="a simulated fleet")
    parser.add_argument("--bundle-file", type=Path, required=True, help="file with one bundle per line")
    parser.add_argument("--url", default=None, help="server URL to use instead of the bundle's")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--delay-ms", type=float, default=0.0, help="duration of each task")
    parser.add_argument("--fail-rate", action="append", default=[], metavar="KIND=RATE")
    parser.add_argument("--first-index", type=int, default=0, help="index of the first node")
    parser.add_argument("--host-certificates", action="store_true")
    parser.add_argument(
        "--key-seed",
        default=None,
        metavar="TEXT",
        help="derive the nodes' keys from this seed, so that the nodes of an earlier run come back; for simulated nodes only",
    )
    arguments = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_run(arguments))
    return 0


async def _run(arguments: argparse.Namespace) -> None:
    rates = {}
    for text in arguments.fail_rate:
        kind, _, rate = text.partition("=")
        rates[kind] = float(rate)
    fleet = SimFleet(
        arguments.url,
        arguments.bundle_file.read_text().split(),
        nodes=arguments.nodes,
        gpus=arguments.gpus,
        delay_seconds=arguments.delay_ms / 1000,
        fail_rates=rates,
        host_certificates=arguments.host_certificates,
        first_index=arguments.first_index,
        key_seed=arguments.key_seed,
    )
    async with fleet:
        log.event("fleet_ready", nodes=arguments.nodes)
        await asyncio.Event().wait()


if __name__ == "__main__":
    sys.exit(main())
