"""Renders operation_kinds.py: the table of operation kinds, which the contract has in `x-operation-kinds`."""

from gpuaas_sdk_gen.contract import Contract

HEADER = '''"""The kinds of operation. Written by tools/sdk-client; change the contract instead."""

from dataclasses import dataclass

__all__ = ["OPERATION_KINDS", "OperationKind"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationKind:
    """Tells a client what it has to know of a kind of operation to offer it.

    `description` says what it does. `confirmation` says what is lost; where there is one, a client asks before it sends the
    request. `fields` are what a request for a member operation takes.
    """

    name: str
    target: str
    description: str
    confirmation: str | None
    has_own_endpoint: bool
    fields: tuple[str, ...]
    may_remove_required_members: bool


'''


def render_operation_kinds(contract: Contract) -> str:
    rows = []
    for kind in contract.document.get("x-operation-kinds", ()):
        columns = {name: tuple(value) if isinstance(value, list) else value for name, value in kind.items()}
        rows.append("    OperationKind(" + ", ".join(f"{name}={value!r}" for name, value in columns.items()) + "),\n")
    return f"{HEADER}OPERATION_KINDS = {{\n    kind.name: kind\n    for kind in (\n{''.join(rows)}    )\n}}\n"
