"""Modes: what an app does not take in the form that its instance has. Pure.

Only the app knows its forms: its controller names the one that an instance has, and what is closed in it. So a request that
would come to nothing is refused when it is made, with the app's own sentence, and nobody is offered it.
"""

from collections.abc import Iterable

from gpuaas_server.instances.rows import ClosedDocument, ModeDocument
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.operations.service import CLOSABLE, INSTANCE_KINDS

VERBS = tuple(kind for kind in INSTANCE_KINDS if kind in CLOSABLE)


def closed(mode: ModeDocument | None, kind: str, component_key: str | None = None) -> ClosedDocument | None:
    """The entry that closes the kind: for this component, or for all."""
    for entry in mode.get("closed", ()) if mode else ():
        if entry["kind"] == kind and entry.get("component_key") in (None, component_key):
            return entry
    return None


def open_kinds(mode: ModeDocument | None, kinds: Iterable[str], component_key: str | None = None) -> list[str]:
    return [kind for kind in kinds if closed(mode, kind, component_key) is None]


def refuse_closed(mode: ModeDocument | None, kind: str, component_keys: Iterable[str | None] = (None,)) -> None:
    for key in component_keys:
        entry = closed(mode, kind, key)
        if mode is not None and entry is not None:
            raise Problem("closed_in_mode", f"{entry['message']} {entry['next_step']}", {"mode": mode["name"], **entry})
