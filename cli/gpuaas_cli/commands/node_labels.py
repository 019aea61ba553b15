"""nodes labels: key-value labels that operators give to a node."""

from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.output import print_card
from gpuaas_cli.references import node_id
from gpuaas_cli.session import Session
from gpuaas_sdk import Node

group = CommandGroup("Labels of a node.")

NodeArgument = Annotated[str, typer.Argument(help="Node: id, name or hostname.")]


@group.verb("list")
def list_(session: Session, node: NodeArgument) -> None:
    """List the labels of a node."""
    _print(session, session.client.nodes.show(node_id(session.client, node)))


@group.verb("set")
def set_(
    session: Session,
    node: NodeArgument,
    labels: Annotated[list[str], typer.Argument(metavar="KEY=VALUE...", help="Labels to set.")],
) -> None:
    """Set labels of a node; its other labels stay."""
    pairs = [text.partition("=") for text in labels]
    if any(not separator for _, separator, _ in pairs):
        raise typer.BadParameter("Write each label as KEY=VALUE.")
    _change(session, node, {key: value for key, _, value in pairs}, set())


@group.verb("unset")
def unset(
    session: Session,
    node: NodeArgument,
    keys: Annotated[list[str], typer.Argument(metavar="KEY...", help="Labels to remove.")],
) -> None:
    """Remove labels of a node; a label that it does not have is not an error."""
    _change(session, node, {}, set(keys))


def _change(session: Session, node: str, wanted: dict[str, str], gone: set[str]) -> None:
    """Change labels; the server refuses it if the node was changed since it was read."""
    found = session.client.nodes.show(node_id(session.client, node))
    labels = {key: value for key, value in {**found.labels, **wanted}.items() if key not in gone}
    _print(session, session.client.nodes.update(found.id, labels=labels, generation=found.generation))


def _print(session: Session, node: Node) -> None:
    print_card(session, node, sorted(node.labels.items()))
