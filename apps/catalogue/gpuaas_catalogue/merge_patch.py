"""Applies what a variant says differs from its app: a JSON merge patch (RFC 7396), in YAML or TOML.

A mapping is merged name by name, null removes a name, and anything else, such as a list, stands in place of the app's.
"""

from collections.abc import Mapping
from typing import Any


def merge(document: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(document)
    for name, part in patch.items():
        below = merged.get(name)
        if part is None:
            merged.pop(name, None)
        elif isinstance(part, Mapping):
            merged[name] = merge(below if isinstance(below, Mapping) else {}, part)
        else:
            merged[name] = part
    return merged
