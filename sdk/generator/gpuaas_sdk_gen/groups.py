"""Renders the async calls: a class for each group, a method for each operation. unasync.py makes the blocking ones."""

from gpuaas_sdk_gen.contract import Call, Contract, Operation
from gpuaas_sdk_gen.types import (
    answered_schemas,
    argument_type,
    class_name,
    item_of,
    python_type,
    requested_schemas,
    takes_object,
)

HEADER = '''"""One method for each operation of the contract. Written by tools/sdk-client; change the contract instead."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime

from gpuaas_sdk.aio.calls import Calls, Pages
from gpuaas_sdk.aio.transport import Content, Request, Transport
from gpuaas_sdk.generated.models import ({models})
from gpuaas_sdk.wire import body_of, if_match, object_of, path_of, wait_timeout

'''
PAGING = ("after", "limit")


def render_groups(contract: Contract) -> str:
    groups = contract.groups()
    classes = [_group(contract, name, calls) for name, calls in sorted(groups.items())]
    models = ", ".join(
        sorted(class_name(name) for name in answered_schemas(contract, groups) | requested_schemas(contract, groups))
    )
    return HEADER.format(models=models) + "\n\n".join([*classes, _call_groups(sorted(groups))]) + "\n"


def group_class(group: str) -> str:
    return f"{''.join(word.capitalize() for word in group.split('_'))}Calls"


def _group(contract: Contract, group: str, calls: list[Call]) -> str:
    # `list` comes last: in the class body it would hide the built-in from the methods after it.
    ordered = sorted(calls, key=lambda call: (call.name == "list", call.name))
    return f"class {group_class(group)}(Calls):\n" + "\n".join(_method(contract, call) for call in ordered)


def _call_groups(groups: list[str]) -> str:
    made = "".join(f"        self.{group} = {group_class(group)}(transport)\n" for group in groups)
    doc = '    """Every group of calls, by its name."""\n'
    return f"class CallGroups:\n{doc}\n    def __init__(self, transport: Transport) -> None:\n{made}"


def _method(contract: Contract, call: Call) -> str:
    one = call.first
    doc = "\n\n".join(dict.fromkeys(each.description for each in call.operations if each.description))
    docstring = f'        """{_indented(doc)}"""\n' if doc else ""
    kind, verb, awaited = _answer(contract, one)
    what = f"{verb}({kind}, {{}})" if kind else f"{verb}({{}})"
    returns = {"_pages": f"Pages[{kind}]", "_items": f"Sequence[{kind}]", "_bytes": "AsyncIterator[bytes]"}
    result = returns.get(verb.removeprefix("self."), kind or "None")
    sent = f"{'await ' if awaited else ''}{what.format('request')}"
    head = f"    {'async ' if awaited else ''}def {call.name}({_arguments(contract, call)}) -> {result}:\n"
    closing = f"        {'return ' if result != 'None' else ''}{sent}\n"
    return f"{head}{docstring}        request = {_request(contract, call)}\n{closing}"


def _answer(contract: Contract, operation: Operation) -> tuple[str, str, bool]:
    """Returns the class to read, the method that reads it, and whether it is awaited."""
    if operation.answers_bytes:
        return "", "self._bytes", False
    if operation.answer is None:
        return "", "self._discard", True
    item = item_of(contract, operation)
    if item is None:
        return class_name(operation.answer), "self._read", True
    return class_name(item), "self._pages" if operation.paged else "self._items", not operation.paged


def _arguments(contract: Contract, call: Call) -> str:
    """Path parameters and required fields are positional, the rest keyword-only. A caller gives at most one scope."""
    one, scopes = call.first, call.scopes
    required = _required(contract, call)
    placed = [f"{name}: str" for name in one.path_names if name not in scopes]
    named = [f"{name}: str | None = None" for name in scopes] if len(scopes) > 1 else []
    if len(scopes) == 1:
        last = not placed and not required and not one.body
        scope = f"{scopes[0]}: str | None{' = None' if last else ''}"
        placed.insert(0, scope)
    placed += [f"{name}: {kind}" for name, kind in required]
    named += [f"{name}: {_optional(kind)} = None" for name, kind in _optional_arguments(contract, call)]
    if _conditional(contract, call):
        named.append("generation: int | None = None")
    return ", ".join(["self", *placed, *(["*", *named] if named else [])])


def _conditional(contract: Contract, call: Call) -> bool:
    """Tell whether the call sends If-Match. A body with a `generation` does not need it."""
    body = call.first.body
    in_body = body is not None and "generation" in contract.schemas[body]["properties"]
    return call.first.matches_generation and not in_body


def _required(contract: Contract, call: Call) -> list[tuple[str, str]]:
    if call.first.sends_bytes:
        return [("content", "Content")]
    if call.first.body is None:
        return []
    if takes_object(contract, call):
        return [("new", class_name(call.first.body))]
    schema = contract.schemas[call.first.body]
    return [(name, argument_type(schema["properties"][name])) for name in schema.get("required", [])]


def _optional_fields(contract: Contract, call: Call) -> dict[str, str]:
    if call.first.body is None or takes_object(contract, call):
        return {}
    found: dict[str, str] = {}
    for body in {one.body for one in call.operations if one.body is not None}:
        schema = contract.schemas[body]
        for name in sorted(schema["properties"]):
            if name not in schema.get("required", []) and name not in call.scopes:
                found[name] = argument_type(schema["properties"][name])
    return found


def _query(call: Call) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in call.operations:
        for name in sorted(one.query):
            if not (one.paged and name in PAGING):
                found[name] = python_type(one.query[name], sent=True)
    return found


def _optional_arguments(contract: Contract, call: Call) -> list[tuple[str, str]]:
    return sorted({**_optional_fields(contract, call), **_query(call)}.items())


def _optional(kind: str) -> str:
    return kind if kind.endswith("| None") else f"{kind} | None"


def _request(contract: Contract, call: Call) -> str:
    parts = [f'method="{call.first.method}"', f"path={_path(call)}"]
    if query := _query(call):
        parts.append(f"query={_fields(list(query))}")
    if call.first.sends_bytes:
        parts.append("content=content")
    elif call.first.body is not None:
        parts.append(f"body={_body(contract, call)}")
    if _conditional(contract, call):
        parts.append("headers=if_match(generation)")
    if "wait" in call.first.query:
        parts.append("timeout=wait_timeout(wait)")
    return f"Request({', '.join(parts)})"


def _body(contract: Contract, call: Call) -> str:
    if takes_object(contract, call):
        return "object_of(new)"
    required = _fields([name for name, _ in _required(contract, call)])
    optional = _fields(list(_optional_fields(contract, call)))
    return f"body_of({required}, {optional})"


def _fields(names: list[str]) -> str:
    return "{" + ", ".join(f'"{name}": {name}' for name in names) + "}"


def _path(call: Call) -> str:
    """Chooses the path by the scope that is given; the operation without a scope is the default."""
    *scoped, last = call.operations
    choices = ""
    for one in scoped:
        [scope] = [name for name in one.path_names if name in call.scopes]
        choices += f"{_segments(one)} if {scope} is not None else "
    return choices + _segments(last)


def _segments(operation: Operation) -> str:
    parts = operation.path.removeprefix("/api/v1/").split("/")
    written = [part[1:-1] if part.startswith("{") else f'"{part}"' for part in parts]
    return f"path_of({', '.join(written)})"


def _indented(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\n        ").replace("\n        \n", "\n\n")
