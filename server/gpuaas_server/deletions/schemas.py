"""Wire types of exports. A deletion is shown by its tenant or project: `delete_after`."""

NDJSON = "application/x-ndjson"
EXPORT: dict[str, object] = {
    "description": "One JSON object per line, with `kind` and `data`. The last line is of kind `end` and counts the objects"
    " of each kind: an export without it is incomplete.",
    "content": {NDJSON: {"schema": {"type": "string", "format": "binary"}}},
}
