"""Options of an operation; the app's manifest defines which options each kind accepts."""

from collections.abc import Sequence
from typing import Annotated

import typer

from gpuaas_cli.instance_inputs import InputForm
from gpuaas_cli.session import Session

SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", help="An option that the app defines for this operation, as NAME=VALUE; repeat for more."),
]


def options_of(
    session: Session, where: str, instance: str, kind: str, assignments: Sequence[str] | None
) -> dict[str, object]:
    """Parse the options by the types that the manifest gives: a number, a choice, a text."""
    if not assignments:
        return {}
    shown = session.client.instances.show(where, instance)
    offered = session.client.catalog.show(where, shown.app_slug, version=shown.version).manifest.get("options")
    schema = offered.get(kind) if isinstance(offered, dict) else None
    return dict(InputForm(schema if isinstance(schema, dict) else {}).parse_assignments(assignments))
