"""JSON for PostgreSQL: by the fast writer, and by the slow one for what the fast one refuses."""

import json
from dataclasses import fields, is_dataclass
from typing import Any

import orjson


def as_json(value: object) -> str:
    """Return the JSON of a value, also with numbers of more than 64 bits, which PostgreSQL keeps and orjson refuses."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, ensure_ascii=False, default=_plain)


def _plain(value: Any) -> object:
    """Convert rows and times for `json`, as orjson does by itself."""
    return (
        {each.name: getattr(value, each.name) for each in fields(value)} if is_dataclass(value) else value.isoformat()
    )
