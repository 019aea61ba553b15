"""Writes docs/reference/compose-keys.md from the tables of keys: `python -m gpuaas_compose.reference`."""

from gpuaas_compose.compose_keys import EXTENSION, TABLES, Key, KeyTable, Support

_ORDER = (Support.SUPPORTED, Support.IGNORED, Support.REFUSED)
_INTRODUCTION = """# Keys of a compose file

<!-- written by gpuaas_compose.reference; change compose_keys.py instead -->

What becomes of every key of the [compose specification](https://compose-spec.io) when a compose file
[becomes an app](../howto/publish-a-compose-app.md). A refused key is a fault with its line;
an ignored one changes nothing that runs.
"""


def reference() -> str:
    """Return the page."""
    return "\n".join([_INTRODUCTION, *(_section(table) for table in TABLES)])


def _section(table: KeyTable) -> str:
    keys = sorted(table.keys, key=lambda key: _ORDER.index(key.support))
    if table is TABLES[0]:
        keys.append(EXTENSION)
    rows = [_row(key) for key in keys]
    return "\n".join([f"## `{table.place}`", "| key | | |", "|---|---|---|", *rows, ""])


def _row(key: Key) -> str:
    return f"| `{key.name}` | {key.support.value} | {key.note.replace('|', '/')} |"


if __name__ == "__main__":
    print(reference(), end="")
