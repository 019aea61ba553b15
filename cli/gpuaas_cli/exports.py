"""Exports tenants and projects to a file. The file exists only when the export is complete."""

import json
from collections.abc import Iterable
from pathlib import Path

from gpuaas_cli.failures import CommandFailed

_LONGEST_END = 1 << 16  # the last line holds only the number of records of each kind


def write_export(chunks: Iterable[bytes], target: Path) -> dict[str, int]:
    """Write the export and return the number of records of each kind. An interrupted export leaves no file."""
    fresh = target.with_name(f".{target.name}.part")
    end = b""
    try:
        with fresh.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
                end = (end + chunk)[-_LONGEST_END:]
        counts = _counts(end)
        fresh.replace(target)
    finally:
        fresh.unlink(missing_ok=True)
    return counts


def _counts(end: bytes) -> dict[str, int]:
    try:
        last = json.loads(end.rstrip(b"\n").rpartition(b"\n")[2])
    except ValueError:
        last = {}
    if last.get("kind") != "end":
        raise CommandFailed("export_cut_off", "The export ended before its last line.", "Try again.")
    counts: dict[str, int] = last["data"]["counts"]
    return counts
