"""Reads the secrets of a compose file: which there are, and where services read them. Values are never read here."""

import re

from gpuaas_compose.compose_keys import NAMED_SECRET, SECRET
from gpuaas_compose.ports_and_volumes import is_allowed_path
from gpuaas_compose.services import Mount, SecretFile
from gpuaas_compose.typed_reader import TypedReader
from gpuaas_compose.yaml_text import Path, printable

FOLDER = "/run/secrets/"  # where images expect them
MOST_SECRETS = 16
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")


def read_secrets(reader: TypedReader, value: object) -> frozenset[str]:
    """Return the names of the file's secrets."""
    if value is None:
        return frozenset()
    listed = reader.mapping(("secrets",), value)
    if len(listed) > MOST_SECRETS:
        reader.refuse(("secrets",), f"An app has at most {MOST_SECRETS} secrets.")
    for name, options in listed.items():
        if not _NAME.fullmatch(name):
            message = "The name of a secret has lower-case letters, digits, - and _, and at most 40 of them."
            reader.refuse_key(("secrets", name), message)
        if options is not None:
            reader.known(("secrets", name), options, NAMED_SECRET)
    return frozenset(listed)


def read_secret_files(
    reader: TypedReader, path: Path, value: object, known: frozenset[str], mounts: tuple[Mount, ...]
) -> tuple[SecretFile, ...]:
    """Return where a service reads its secrets. No path has two things."""
    items = reader.sequence(path, value)
    if len(items) > MOST_SECRETS:
        reader.refuse(path, f"A service has at most {MOST_SECRETS} secrets.")
        return ()
    found: list[SecretFile] = []
    taken = {mount.path for mount in mounts}
    for index, item in enumerate(items):
        one = _secret_file(reader, (*path, index), item)
        if one is None:
            continue
        if one.secret not in known:
            reader.refuse((*path, index), f"The file has no secret {printable(one.secret)}; name it under secrets.")
        elif one.path in taken:
            reader.refuse((*path, index), f"The service has something else at {one.path}.")
        else:
            taken.add(one.path)
            found.append(one)
    return tuple(found)


def _secret_file(reader: TypedReader, path: Path, item: object) -> SecretFile | None:
    if not isinstance(item, dict):
        name = reader.text(path, item)
        return None if name is None else _at(reader, path, name, name)
    given = reader.known(path, item, SECRET)
    name = reader.text((*path, "source"), given.get("source"))
    target = reader.text((*path, "target"), given["target"]) if "target" in given else name
    return None if name is None or target is None else _at(reader, path, name, target)


def _at(reader: TypedReader, path: Path, name: str, target: str) -> SecretFile | None:
    where = target if target.startswith("/") else f"{FOLDER}{target}"
    return SecretFile(name, where) if is_allowed_path(reader, path, where, FOLDER) else None
