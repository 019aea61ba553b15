"""JSON for PostgreSQL: quickly, and also what the quick writer refuses."""

import json
from dataclasses import fields, is_dataclass
from typing import Any

import orjson


def as_json(value: object) -> str:
    """A stranger's document may hold a number of more than 64 bits, which PostgreSQL keeps and orjson does not write."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> object:
    """What orjson writes by itself and json does not: rows and moments."""
    return (
        {each.name: getattr(value, each.name) for each in fields(value)} if is_dataclass(value) else value.isoformat()
    )
