"""Wire types of exports. A deletion is shown by its tenant or project: `delete_after`."""

NDJSON = "application/x-ndjson"
EXPORT: dict[str, object] = {
    "description": "One JSON object a line: `kind` says what it is, `data` is the thing. The last line is of kind `end`,"
    " with how many there were of each: an export without it was cut off.",
    "content": {NDJSON: {"schema": {"type": "string", "format": "binary"}}},
}
