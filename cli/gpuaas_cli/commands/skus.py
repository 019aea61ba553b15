"""skus: what can be allocated, and its price."""

from enum import StrEnum
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.output import Column, money, print_list
from gpuaas_cli.references import sku_id
from gpuaas_cli.session import Session
from gpuaas_sdk import NewSku, Sku

group = CommandGroup("SKUs: what can be allocated, and its price.")

SkuArgument = Annotated[str, typer.Argument(help="SKU: id or name.")]
CountsOption = Annotated[list[int], typer.Option("--gpus", min=1, help="An offered GPU count; repeat for several.")]
COLUMNS: list[Column[Sku]] = [
    Column("NAME", lambda one: one.name, whole=True),
    Column("SHAPE", lambda one: one.shape, whole=True),
    Column("GPU", lambda one: one.gpu_model),
    Column("COUNTS", lambda one: one.gpu_counts),
    Column("GPU-HOUR", lambda one: money(one.price_per_gpu_hour_minor, one.currency), right=True, whole=True),
    Column("OFFERED", lambda one: one.offered, whole=True),
    Column("ID", lambda one: one.id, whole=True),
]
# A single SKU also shows what is too wide for a list.
CHANGED = [*COLUMNS[:-1], Column("WIPE", lambda one: one.wipe_grade, whole=True)]


GradeOption = Annotated[
    str | None,
    typer.Option(
        "--wipe-grade", help="The required wipe grade: inspected, or rebooted (for whole nodes, and their default)."
    ),
]
AcceptOption = Annotated[
    list[str] | None,
    typer.Option("--accept-not-examined", help="A check of the wipe that may stay not examined; repeat for several."),
]


class Shape(StrEnum):
    BAREMETAL = "baremetal"
    GPU_SLICE = "gpu_slice"


@group.verb("list")
def list_(session: Session) -> None:
    """List the SKUs."""
    print_list(session, session.client.skus.list(), COLUMNS)


@group.verb("create")
def create(
    session: Session,
    name: Annotated[str, typer.Argument(help="Name: a-z, 0-9 and dashes.")],
    shape: Annotated[Shape, typer.Option("--shape", help="A whole node, or some GPUs of a node.")],
    gpu_model: Annotated[str, typer.Option("--gpu-model", help="The GPU model, as discovery reports it.")],
    gpus: CountsOption,
    price: Annotated[int, typer.Option("--price", min=0, help="Price per GPU and hour, in minor units (cents).")],
    currency: Annotated[str, typer.Option("--currency", help="Three letters.")] = "USD",
    offered: Annotated[bool, typer.Option("--offered/--not-offered")] = True,
    wipe_grade: GradeOption = None,
    accept_not_examined: AcceptOption = None,
) -> None:
    """Create a SKU."""
    new = NewSku(
        name=name,
        shape=shape,
        gpu_model=gpu_model,
        gpu_counts=gpus,
        price_per_gpu_hour_minor=price,
        currency=currency,
        offered=offered,
        wipe_grade=wipe_grade,
        accept_not_examined=accept_not_examined or [],
    )
    print_list(session, [session.client.skus.create(new)], CHANGED)


@group.verb("update")
def update(
    session: Session,
    sku: SkuArgument,
    gpus: Annotated[list[int] | None, typer.Option("--gpus", min=1, help="Offered GPU counts.")] = None,
    price: Annotated[int | None, typer.Option("--price", min=0, help="Price per GPU and hour, in minor units.")] = None,
    offered: Annotated[bool | None, typer.Option("--offered/--not-offered")] = None,
    wipe_grade: GradeOption = None,
    accept_not_examined: AcceptOption = None,
) -> None:
    """Change a SKU: GPU counts, price, wipe proof, or whether it is offered."""
    found = sku_id(session.client, sku)
    changed = session.client.skus.update(
        found,
        offered=offered,
        price_per_gpu_hour_minor=price,
        gpu_counts=gpus or None,
        wipe_grade=wipe_grade,
        accept_not_examined=accept_not_examined or None,
    )
    print_list(session, [changed], CHANGED)
