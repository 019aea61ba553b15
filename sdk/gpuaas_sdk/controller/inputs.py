"""Fills in the defaults of the manifest, so that a handler sees the inputs as the form showed them."""

from collections.abc import Mapping
from copy import deepcopy


def with_defaults(schema: object, values: object) -> object:
    """Return the values with what the schema's `default` says for properties that are absent, at every depth.

    A property without a default is absent as before, unless it is an object that defaults further down make complete.
    """
    if not isinstance(schema, Mapping):
        return values
    if isinstance(values, Mapping):
        return _object(schema, values)
    if isinstance(values, list):
        return [with_defaults(schema.get("items"), one) for one in values]
    return values


def _object(schema: Mapping[str, object], values: Mapping[str, object]) -> dict[str, object]:
    properties = schema.get("properties")
    filled = dict(values)
    for name, below in properties.items() if isinstance(properties, Mapping) else ():
        if name in values:
            filled[name] = with_defaults(below, values[name])
        elif isinstance(below, Mapping) and "default" in below:
            filled[name] = with_defaults(below, deepcopy(below["default"]))
        elif isinstance(below, Mapping) and (inner := _object(below, {})) and not _missing(below, inner):
            filled[name] = inner
    return filled


def _missing(schema: Mapping[str, object], values: Mapping[str, object]) -> bool:
    required = schema.get("required")
    return any(name not in values for name in required) if isinstance(required, list) else False
