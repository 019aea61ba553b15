"""Reads JSON answers tolerantly: it ignores unknown fields and uses defaults for absent ones."""

import types
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from functools import cache
from typing import TypeVar, Union, cast, get_args, get_origin, get_type_hints

Record = TypeVar("Record")


@dataclass(frozen=True, kw_only=True)
class Resource:
    """The base of all answers. `raw` is the JSON object as it arrived, with unknown fields."""

    raw: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)


def read(kind: type[Record], data: object) -> Record:
    """Make one record of `kind` from a JSON object."""
    if not isinstance(data, dict):
        raise ValueError(f"expected a JSON object for {kind.__name__}")
    shape = cast(Hashable, kind)
    hints = _hints(shape)
    known = {name: _value(hints[name], data[name]) for name in _wire_names(shape) if name in data}
    if issubclass(kind, Resource):
        known["raw"] = data
    return kind(**known)


@cache
def _hints(kind: Hashable) -> dict[str, object]:
    return dict(get_type_hints(cast(type[object], kind)))


@cache
def _wire_names(kind: Hashable) -> tuple[str, ...]:
    if not is_dataclass(kind):
        raise TypeError(f"{kind!r} is not a dataclass")
    return tuple(one.name for one in fields(kind) if one.name != "raw")


def _value(hint: object, value: object) -> object:
    origin = get_origin(hint)
    if value is None:
        return None
    if origin in (Union, types.UnionType):
        types_ = [one for one in get_args(hint) if one is not type(None)]
        return _value(types_[0], value) if len(types_) == 1 else value
    if origin in (list, tuple) and isinstance(value, list):
        items = [_value(get_args(hint)[0], one) for one in value]
        return items if origin is list else tuple(items)
    if hint is datetime and isinstance(value, str):
        return datetime.fromisoformat(value)
    if isinstance(hint, type) and is_dataclass(hint) and isinstance(value, dict):
        return read(cast(type[object], hint), value)
    return value
