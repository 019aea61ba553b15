"""`gpuaas-lab`: up, down, status. `up` leaves the fleet running until `down` or a reboot."""

import enum
import json
import sys
import time
from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from gpuaas_lab import cleanup, records
from gpuaas_lab.errors import LabError
from gpuaas_lab.fleet import REPOSITORY, Fleet
from gpuaas_lab.host import Host

app = typer.Typer(help="Real small hosts on this machine.", no_args_is_help=True, add_completion=False)

# Printed whenever a fleet starts: hosts, slices and tenants could look more isolated than they are.
ISOLATION = (
    "Lab hosts and their slices are containers without user namespaces: root in one is root on this machine."
    " They isolate nothing: give access only to people whom you trust with this machine."
)


class Output(enum.StrEnum):
    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option(help="Output format.")]


@dataclass(frozen=True)
class HostView:
    name: str
    address: str
    power: str
    gpus: int
    slice_addresses: list[str]

    @classmethod
    def of(cls, host: Host) -> "HostView":
        return cls(host.name, host.address, "on" if host.is_on else "off", host.gpus, host.slice_addresses)


@dataclass(frozen=True)
class FleetView:
    name: str
    number: int
    gateway: str
    hosts: list[HostView]

    @classmethod
    def of(cls, fleet: Fleet) -> "FleetView":
        return cls(fleet.name, fleet.number, fleet.gateway, [HostView.of(host) for host in fleet.hosts])


@app.command()
def up(
    name: Annotated[str, typer.Option(help="The fleet's name; hosts are NAME-1, NAME-2 …")] = "lab",
    hosts: Annotated[int, typer.Option(help="How many hosts.")] = 4,
    gpus: Annotated[int, typer.Option(help="GPUs per host.")] = 8,
    output: OutputOption = Output.TABLE,
) -> None:
    """Start a fleet and leave it running."""
    began = time.monotonic()
    with Fleet(name=name, hosts=hosts, gpus_per_host=gpus) as fleet:
        view = FleetView.of(fleet)
        fleet.detach()
    if output is Output.JSON:
        _write_json(asdict(view))
        return
    _write_table([view])
    typer.echo(f"{hosts} hosts in {time.monotonic() - began:.1f} s. They reach this machine at {view.gateway}.")
    typer.echo(ISOLATION)
    typer.echo(f"End them with `gpuaas-lab down --name {name}`.")


@app.command()
def down(
    name: Annotated[str | None, typer.Option(help="Stop only this fleet (default: all detached fleets).")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Stop all detached fleets.")] = False,
    here: Annotated[bool, typer.Option("--here", help="Stop all detached fleets of this checkout.")] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Stop fleets and remove what dead owners left. A fleet that a running process uses stays."""
    if (name is not None) + everything + here > 1:
        raise LabError("give one of --name, --all and --here")
    removed = cleanup.down(name, REPOSITORY if here else None)
    if output is Output.JSON:
        _write_json({"removed": removed})
    else:
        typer.echo("\n".join(f"removed {entry}" for entry in removed) or "nothing to remove")


@app.command()
def status(output: OutputOption = Output.TABLE) -> None:
    """List the fleets and their hosts."""
    alive = [record for record in records.load_all() if record.is_alive]
    fleets = [FleetView.of(Fleet.open(record.name)) for record in alive]
    if output is Output.JSON:
        _write_json({"fleets": [asdict(fleet) for fleet in fleets]})
    elif fleets:
        _write_table(fleets)
    else:
        typer.echo("no fleet is running; start one with `gpuaas-lab up`")


def _write_json(answer: dict[str, object]) -> None:
    typer.echo(json.dumps(answer, indent=2))


def _write_table(fleets: list[FleetView]) -> None:
    table = Table("FLEET", "HOST", "ADDRESS", "POWER", "GPUS", "SLICES FROM", box=box.SIMPLE)
    for fleet in fleets:
        for host in fleet.hosts:
            cells = (fleet.name, host.name, host.address, host.power, str(host.gpus))
            table.add_row(*cells, host.slice_addresses[0])
    Console(highlight=False, width=None if sys.stdout.isatty() else 200).print(table)


def main() -> int:
    try:
        app()
    except LabError as problem:
        typer.echo(f"gpuaas-lab: {problem}", err=True)
        return 1
    except PermissionError as problem:
        typer.echo(f"gpuaas-lab: {problem}: run it as root", err=True)
        return 1
    return 0
