"""JSON for PostgreSQL: quickly, and also what the quick writer refuses."""

import json

import orjson


def as_json(value: object) -> str:
    """A stranger's document may hold a number of more than 64 bits, which PostgreSQL keeps and orjson does not write."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        return json.dumps(value, ensure_ascii=False, default=lambda moment: moment.isoformat())
