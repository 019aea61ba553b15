"""docs/reference/controller-sdk.md, written from the docstrings of what an app team uses."""

import dataclasses
import inspect
import re
from collections.abc import Iterator

from gpuaas_sdk import controller, testing

_HEAD = """# The controller SDK

Generated from docstrings by `make contract`; do not edit. [Echo](../../apps/echo/README.md) shows the parts together,
[publish an app](../howto/publish-an-app.md) says how an app gets into the catalogue.
`gpuaas apps init NAME` writes an app to begin with.

`gpuaas_sdk.testing` needs no special platform. `CatalogApp` and `Sandbox` make one for a test. What takes
`ControllerSettings`, such as `interrupting_replicas` and `running_replica`, runs against any live platform: give it
`ControllerSettings.from_environment()` with the key of a service account that may control the app, and request operations
in the block. No other replica of the app may run at the same time.
"""
# What a reader meets first comes first; the rest follows in the order of the alphabet.
_FIRST = ("AppController", "Context", "HostInstaller", "Host", "Failed", "Health", "InstanceSnapshot", "UsageCounters")


def reference() -> str:
    parts = [_HEAD]
    for module in (controller, testing):
        parts.append(f"## `{module.__name__}`\n\n{_text(module)}\n")
        names = sorted(module.__all__, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name))
        for name in names:
            parts += _entry(name, getattr(module, name))
    return "\n".join(parts)


def _entry(name: str, public: object) -> Iterator[str]:
    if inspect.isclass(public):
        yield f"### `{name}`\n\n{_text(public)}\n"
        rows = [f"| `{member}` | {_cell(one)} |" for member, one in _members(public)]
        if rows:
            yield "\n".join(["| | |", "|---|---|", *rows, ""])
    elif callable(public):
        yield f"### `{name}{_signature(public)}`\n\n{_text(public)}\n"
    else:
        yield f"### `{name}`\n\n`{public!r}`\n"


def _members(public: type) -> Iterator[tuple[str, object]]:
    """Fields first, then what the class defines itself. Inherited parts are described where they are defined."""
    inherited = {field for base in public.__mro__[1:] for field in getattr(base, "__dataclass_fields__", {})}
    fields = dataclasses.fields(public) if dataclasses.is_dataclass(public) else ()
    for field in fields:
        if not field.name.startswith("_") and field.name not in inherited:
            yield f"{field.name}: {_type_name(field.type)}", None
    for name, one in vars(public).items():
        if name.startswith("_"):
            continue
        if isinstance(one, property):
            yield name, one.fget
        elif isinstance(one, classmethod | staticmethod):
            yield f"{name}{_signature(one.__func__)}", one.__func__
        elif inspect.isfunction(one):
            yield f"{name}{_signature(one)}", one


def _signature(function: object) -> str:
    """The parameters with their names and whether they have a default; types are in the code."""
    if not callable(function):
        return ""
    shown: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not any(one.startswith("*") for one in shown):
            shown.append("*")
        star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        star = "**" if parameter.kind is parameter.VAR_KEYWORD else star
        shown.append(f"{star}{parameter.name}{'' if parameter.default is parameter.empty else '=…'}")
    return f"({', '.join(shown)})"


def _type_name(kind: object) -> str:
    shown = kind.__name__ if inspect.isclass(kind) and not hasattr(kind, "__args__") else str(kind)
    return re.sub(r"[\w.]+\.(\w+)", r"\1", shown).replace("|", "\\|")  # names without their modules; a bar ends a cell


def _text(public: object) -> str:
    written = inspect.getdoc(public) or ""
    return "" if re.match(r"\w+\(", written) else written  # dataclasses write their signature where nobody wrote a text


def _cell(function: object) -> str:
    return "" if function is None else " ".join(_text(function).split()).replace("|", "\\|")


if __name__ == "__main__":
    print(reference(), end="")
