"""Reads which component runs on which allocation, as people write it: COMPONENT=ALLOCATION, with commas for several."""

from collections.abc import Sequence

from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.references import allocation_id
from gpuaas_cli.session import Session
from gpuaas_sdk import Placement


def placement_of(session: Session, where: str, places: Sequence[str]) -> list[Placement]:
    intent = []
    for place in places:
        component, equals, allocations = place.partition("=")
        if not (component and equals and allocations):
            raise CommandFailed(
                "usage", f"--place {place} names no allocation.", "Write it as COMPONENT=ALLOCATION.", ExitCode.USAGE
            )
        for one in allocations.split(","):
            found = allocation_id(session.client, where, one)
            intent.append(Placement(component_key=component, allocation_id=found))
    return intent
