"""What is said with a request for an operation: the app's manifest says what each kind takes."""

from collections.abc import Sequence
from typing import Annotated

import typer

from gpuaas_cli.instance_inputs import InputForm
from gpuaas_cli.session import Session

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="One option of the app for this operation as NAME=VALUE; repeat for more."),
]


def options_of(
    session: Session, where: str, instance: str, kind: str, assignments: Sequence[str] | None
) -> dict[str, object]:
    """Read as the manifest says what they are: a number, a choice, a text."""
    if not assignments:
        return {}
    shown = session.client.instances.show(where, instance)
    offered = session.client.catalog.show(where, shown.app_slug, version=shown.version).manifest.get("options")
    schema = offered.get(kind) if isinstance(offered, dict) else None
    return dict(InputForm(schema if isinstance(schema, dict) else {}).assigned(assignments))
