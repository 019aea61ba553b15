"""What an app does not take in the form that its instance has. Pure.

Only the app knows its forms: its controller names the one that an instance has, and what is closed in it. So a request that
would come to nothing is refused when it is made, with the app's own sentence, and nobody is offered it.
"""

from collections.abc import Iterable, Mapping, Sequence

from psycopg.rows import DictRow

from gpuaas_server.kernel.errors import Problem
from gpuaas_server.operations.service import CLOSABLE, INSTANCE_KINDS

Json = Mapping[str, object]
VERBS = tuple(kind for kind in INSTANCE_KINDS if kind in CLOSABLE)


def closed(mode: Json | None, kind: str, component_key: str | None = None) -> Json | None:
    """The entry that closes it: for this component, or for all."""
    listed = mode.get("closed") if mode else None
    for entry in listed if isinstance(listed, Sequence) else ():
        if entry["kind"] == kind and entry.get("component_key") in (None, component_key):
            return dict(entry)
    return None


def open_kinds(mode: Json | None, kinds: Iterable[str], component_key: str | None = None) -> list[str]:
    return [kind for kind in kinds if closed(mode, kind, component_key) is None]


def refuse_closed(instance: DictRow, kind: str, component_keys: Iterable[str | None] = (None,)) -> None:
    for key in component_keys:
        entry = closed(instance["mode"], kind, key)
        if entry is not None:
            details = {"mode": instance["mode"]["name"], **entry}
            raise Problem("closed_in_mode", f"{entry['message']} {entry['next_step']}", details)
