"""`gpuaas-lab`: up, down, status. `up` leaves the fleet running until `down` or a reboot."""

import argparse
import json
import sys
import time

from gpuaas_lab import cleanup, records
from gpuaas_lab.errors import LabError
from gpuaas_lab.fleet import Fleet
from gpuaas_lab.host import Host


def main(arguments: list[str] | None = None) -> int:
    chosen = _parser().parse_args(arguments)
    try:
        return int(chosen.command(chosen))
    except LabError as problem:
        print(f"gpuaas-lab: {problem}", file=sys.stderr)
        return 1
    except PermissionError as problem:
        print(f"gpuaas-lab: {problem}: run it as root", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="gpuaas-lab", description="real little hosts, here")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="start a fleet and leave it running")
    up.add_argument("--name", default="lab")
    up.add_argument("--hosts", type=int, default=4)
    up.add_argument("--gpus", type=int, default=8, help="GPUs a host")
    up.set_defaults(command=_up)
    down = commands.add_parser("down", help="end fleets and remove what dead owners left")
    which = down.add_mutually_exclusive_group()
    which.add_argument("--name", help="one fleet (default: all that were left running)")
    which.add_argument("--all", action="store_true")
    down.set_defaults(command=_down)
    status = commands.add_parser("status", help="list the fleets and their hosts")
    status.set_defaults(command=_status)
    for command in (up, down, status):
        command.add_argument("--output", choices=("table", "json"), default="table")
    return parser


def _up(chosen: argparse.Namespace) -> int:
    began = time.monotonic()
    fleet = Fleet(name=chosen.name, hosts=chosen.hosts, gpus_per_host=chosen.gpus)
    with fleet:
        hosts = fleet.hosts
        described = _describe(fleet)
        fleet.detach()
    if chosen.output == "json":
        print(json.dumps(described, indent=2))
        return 0
    _print_table([described])
    print(f"\n{len(hosts)} hosts in {time.monotonic() - began:.1f} s.", end=" ")
    print(f"They reach this machine at {described['gateway']}.")
    print(f"End them with `gpuaas-lab down --name {chosen.name}`.")
    return 0


def _down(chosen: argparse.Namespace) -> int:
    removed = cleanup.down(chosen.name)
    if chosen.output == "json":
        print(json.dumps({"removed": removed}))
    else:
        print("\n".join(f"removed {name}" for name in removed) or "nothing to remove")
    return 0


def _status(chosen: argparse.Namespace) -> int:
    alive = [record for record in records.load_all() if record.is_alive]
    fleets = [_describe(Fleet.open(record.name)) for record in alive]
    if chosen.output == "json":
        print(json.dumps({"fleets": fleets}, indent=2))
    elif fleets:
        _print_table(fleets)
    else:
        print("no fleet is running; start one with `gpuaas-lab up`")
    return 0


def _describe(fleet: Fleet) -> dict[str, object]:
    return {
        "name": fleet.name,
        "number": fleet.number,
        "gateway": fleet.gateway,
        "hosts": [_describe_host(host) for host in fleet.hosts],
    }


def _describe_host(host: Host) -> dict[str, object]:
    return {
        "name": host.name,
        "address": host.address,
        "power": "on" if host.is_on else "off",
        "gpus": host.gpus,
        "slice_addresses": host.slice_addresses,
    }


def _print_table(fleets: list[dict[str, object]]) -> None:
    rows = [("FLEET", "HOST", "ADDRESS", "POWER", "GPUS", "SLICES FROM")]
    for fleet in fleets:
        hosts = fleet["hosts"]
        assert isinstance(hosts, list)  # noqa: S101 - built above
        for host in hosts:
            cells = (host["name"], host["address"], host["power"], str(host["gpus"]))
            rows.append((str(fleet["name"]), *cells, host["slice_addresses"][0]))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
