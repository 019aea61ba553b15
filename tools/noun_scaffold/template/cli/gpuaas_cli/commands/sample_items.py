"""sample-items: a named thing of a project."""

from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.options import LimitOption, ProjectOption, YesOption
from gpuaas_cli.output import Column, age, print_card, print_list
from gpuaas_cli.references import project_id, sample_item_id
from gpuaas_cli.session import Session
from gpuaas_sdk import SampleItem

group = CommandGroup("Sample items of a project.")

SampleItemArgument = Annotated[str, typer.Argument(metavar="SAMPLE_ITEM", help="Sample item: id or name.")]
COLUMNS: list[Column[SampleItem]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("NAME", lambda one: one.name),
    Column("STATE", lambda one: one.state, whole=True),  # with states
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
]


@group.verb("list")
def list_(session: Session, limit: LimitOption = 100, project: ProjectOption = None) -> None:
    """List the sample items of a project, newest first."""
    print_list(session, session.client.sample_items.list(project_id(session, project)).first(limit), COLUMNS)


@group.verb("show")
def show(session: Session, item: SampleItemArgument, project: ProjectOption = None) -> None:
    """Show one sample item."""
    place, found = _find(session, project, item)
    _print(session, session.client.sample_items.show(place, found))


@group.verb("create")
def create(
    session: Session,
    name: Annotated[str, typer.Argument(help="A name that is unique in the project.")],
    project: ProjectOption = None,
) -> None:
    """Create a sample item."""
    _print(session, session.client.sample_items.create(project_id(session, project), name))


@group.verb("delete")
def delete(session: Session, item: SampleItemArgument, project: ProjectOption = None, yes: YesOption = False) -> None:
    """Delete a sample item for good."""
    session.confirm(f"Delete the sample item {item}?", yes)
    place, found = _find(session, project, item)
    session.client.sample_items.delete(place, found)
    session.say(f"{item} is deleted.")


def _find(session: Session, project: str | None, item: str) -> tuple[str, str]:
    place = project_id(session, project)
    return place, sample_item_id(session.client, place, item)


def _print(session: Session, item: SampleItem) -> None:
    fields: list[tuple[str, object]] = [
        ("Id", item.id),
        ("Name", item.name),
        ("State", item.state),  # with states
        ("Created by", item.created_by),
        ("Created", item.created_at),
    ]
    print_card(session, item, fields)
