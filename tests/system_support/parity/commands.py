"""What each command of the CLI calls, read off the compiled functions themselves.

A command's function is followed into the functions of the CLI that it uses, as deep as they go. A call of the API is an
attribute of a group of the client (`….allocations.create`); what the SDK adds by hand is followed to what it calls.
"""

import dis
import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType

import typer
from typer.core import TyperCommand, TyperGroup

from gpuaas_cli.main import app
from gpuaas_sdk import Client

# What the client does without a group, by the operation that it is.
OF_THE_CLIENT = {"sign_in": "auth_token", "sign_out": "auth_logout", "watch": "events.page"}
BY_VERB = "operate"  # an operation of an instance, by the name of its verb


def calls_of_commands() -> dict[str, list[str]]:
    """Calls ("group.method", or an operation's name) to the commands that make them, those that do so directly first."""
    found: dict[str, list[tuple[int, str]]] = {}
    for name, function in _commands():
        for call, depth in _Reading(function).calls.items():
            found.setdefault(call, []).append((depth, name))
    return {call: _nearest(users) for call, users in found.items()}


def _nearest(users: list[tuple[int, str]]) -> list[str]:
    """Who calls it only to find something else does not offer it, where others do."""
    least = min(depth for depth, _ in users)
    return [name for depth, name in users if depth == least]


def _commands() -> Iterator[tuple[str, FunctionType]]:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    yield from _of_group(root, "")


def _of_group(group: TyperGroup, path: str) -> Iterator[tuple[str, FunctionType]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from _of_group(command, f"{path}{name} ")
        elif isinstance(command, TyperCommand):
            yield f"{path}{name}", _verb_of(command.callback)


def _verb_of(callback: Callable[..., object] | None) -> FunctionType:
    """The function that was registered, below what Typer and `with_session` have put around it."""
    assert callback is not None
    inner = inspect.unwrap(callback)
    while True:
        cells = inspect.getclosurevars(inner).nonlocals
        below = cells.get("verb") or cells.get("callback")
        if not isinstance(below, FunctionType) or below is inner:
            break
        inner = below
    assert isinstance(inner, FunctionType)
    return inner


class _Reading:
    """`calls`: each call to how many functions lie between the command and it."""

    def __init__(self, function: FunctionType) -> None:
        self.calls: dict[str, int] = {}
        self._seen: set[CodeType] = set()
        waiting: list[tuple[FunctionType, int]] = [(function, 0)]
        while waiting:
            one, depth = waiting.pop(0)
            if one.__code__ not in self._seen:
                waiting += [(used, depth + 1) for used in self._read(one, depth)]

    def _read(self, function: FunctionType, depth: int) -> list[FunctionType]:
        """Notes what it calls; the functions of the CLI that it uses."""
        used: list[FunctionType] = []
        for code in _with_inner(function.__code__):
            self._seen.add(code)
            for group, method in _chains(code):
                for call in _calls(group, method, function):
                    self.calls.setdefault(call, depth)
            used += _functions(code, function)
        return used


def _chains(code: CodeType) -> Iterator[tuple[str, str]]:
    """Each attribute and the one that it is taken of, also where that has a name of its own: `x = a.b; x.c`."""
    named: dict[str, str] = {}
    last = ""
    for one in dis.get_instructions(code):
        if one.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            yield last, one.argval
            last = one.argval
        elif one.opname == "STORE_FAST":
            named[one.argval] = last
        elif one.opname == "LOAD_FAST":
            last = named.get(one.argval, "")


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _with_inner(constant)


def _functions(code: CodeType, function: FunctionType) -> list[FunctionType]:
    """The CLI's own functions, and methods of its classes, whose names the code uses."""
    found: list[FunctionType] = []
    for name in (*code.co_names, *code.co_freevars):
        known = function.__globals__.get(name)
        if not getattr(known, "__module__", "").startswith("gpuaas_cli"):
            continue
        if isinstance(known, FunctionType):
            found.append(known)
        elif inspect.isclass(known):
            found += [one for one in vars(known).values() if isinstance(one, FunctionType)]
    return found


def _calls(group: str, method: str, function: FunctionType) -> list[str]:
    if method in OF_THE_CLIENT and group not in _GROUPS:
        return [OF_THE_CLIENT[method]]
    kind = _GROUPS.get(group)
    known = getattr(kind, method, None)
    if kind is None or not isinstance(known, FunctionType):
        return []
    if (group, method) == ("instances", BY_VERB):
        return [f"instances.{inspect.getclosurevars(function).nonlocals['verb']}"]
    if any(_is_generated(vars(one).get(method)) for one in kind.__mro__):  # also where the SDK's own class overrides it
        return [f"{group}.{method}"]
    inner = {name for code in _with_inner(known.__code__) for name in code.co_names}
    return [call for one in sorted(inner - {method}) for call in _calls(group, one, known)]


def _is_generated(known: object) -> bool:
    return getattr(known, "__module__", None) == "gpuaas_sdk.generated.sync"


def _groups() -> dict[str, type]:
    return {name: type(value) for name, value in vars(Client("http://127.0.0.1:1")).items() if not name.startswith("_")}


_GROUPS = _groups()
