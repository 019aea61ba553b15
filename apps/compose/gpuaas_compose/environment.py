"""Reads the environment of a service: from the compose file, and from files beside it."""

import re
from collections.abc import Callable

from gpuaas_compose.services import Value
from gpuaas_compose.typed_reader import TypedReader
from gpuaas_compose.yaml_text import HOSTILE, Path, printable

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_RESERVED_NAMES = ("CUDA_VISIBLE_DEVICES",)
_RESERVED_PREFIXES = ("GPUAAS_", "NVIDIA_")
MOST_VARIABLES = 64
MOST_FILES = 8


class FileRefused(Exception):
    """Raised when a file of the app's folder may not or cannot be read; it says why."""


ReadFile = Callable[[str], str]


def read_environment(
    reader: TypedReader, path: Path, service: dict[str, object], read_file: ReadFile
) -> dict[str, Value]:
    """Return all variables; the compose file's own come before those of files."""
    found: dict[str, Value] = {}
    for place, name in _files(reader, (*path, "env_file"), service.get("env_file")):
        found.update(_file_variables(reader, place, name, read_file))
    if "environment" in service:
        found.update(_own_variables(reader, (*path, "environment"), service["environment"]))
    if len(found) > MOST_VARIABLES:
        reader.refuse((*path, "environment"), f"A service has at most {MOST_VARIABLES} variables.")
    return found


def _own_variables(reader: TypedReader, path: Path, value: object) -> dict[str, Value]:
    pairs: list[tuple[Path, str, object]] = []
    if isinstance(value, list):
        for index, item in enumerate(value):
            line = reader.line((*path, index), item)
            if line is not None:
                name, equals, text = line.partition("=")
                pairs.append(((*path, index), name, text if equals else None))
    else:
        pairs = [((*path, name), name, inner) for name, inner in reader.mapping(path, value).items()]
    found: dict[str, Value] = {}
    for place, name, inner in pairs:
        if not _is_allowed_name(reader, place, name):
            continue
        if inner is None:
            reader.refuse(
                place, f"{name} has no value. The value in your shell is not used: write one here, or ${{input}}."
            )
        elif name in found:
            reader.refuse(place, f"{name} appears twice here.")
        elif (taken := reader.value(place, inner)) is not None:
            found[name] = taken
    return found


def _is_allowed_name(reader: TypedReader, path: Path, name: str) -> bool:
    if not _NAME.fullmatch(name):
        reader.refuse(path, "The name of a variable has letters, digits and _, and at most 128 of them.")
        return False
    if name in _RESERVED_NAMES or name.startswith(_RESERVED_PREFIXES):
        reader.refuse(path, f"The platform sets {name}.")
        return False
    return True


def _files(reader: TypedReader, path: Path, value: object) -> list[tuple[Path, str]]:
    if value is None:
        return []
    several: list[tuple[Path, object]] = [(path, value)] if isinstance(value, str) else []
    if not several:
        several = [((*path, index), item) for index, item in enumerate(reader.sequence(path, value))]
    if len(several) > MOST_FILES:
        reader.refuse(path, f"A service reads at most {MOST_FILES} files.")
        return []
    found = []
    for place, item in several:
        name = reader.text(place, reader.fields(place, item, ("path",)).get("path") if isinstance(item, dict) else item)
        if name is not None:
            found.append((place, name))
    return found


def _file_variables(reader: TypedReader, path: Path, name: str, read_file: ReadFile) -> dict[str, Value]:
    try:
        text = read_file(name)
    except FileRefused as refused:
        reader.refuse(path, f"{printable(name)}: {refused}")
        return {}
    found: dict[str, Value] = {}
    for number, line in enumerate(text.splitlines(), 1):
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        variable, equals, content = entry.removeprefix("export ").partition("=")
        where = f"line {number} of {printable(name)}"
        if not equals or not _NAME.fullmatch(variable) or HOSTILE.search(content) or len(content) > 4096:
            reader.refuse(path, f"{where} is not NAME=VALUE.")  # the line itself may be a secret: it is not repeated
        elif content[:1] in ("'", '"') and (len(content) < 2 or content[-1] != content[0]):
            reader.refuse(path, f"{where} has a quote that is not closed.")
        elif _is_allowed_name(reader, path, variable):
            found[variable] = content[1:-1] if content[:1] in ("'", '"') else content
    return found
