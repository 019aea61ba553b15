"""Derives what an instance may leave on its hosts: what its manifest names, and accounts that people named when launching.
Pure.

An app that makes accounts for people cannot name them in a manifest. It names the place in its inputs instead, so that a
teardown looks for these accounts as for all others, and their keys, their tables and what they run with them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuaas_server.catalog.manifest_document import ManifestDocument
from gpuaas_server.catalog.usage_rules import runs_images
from gpuaas_server.catalog.yaml_text import Path, spell
from gpuaas_server.kernel.errors import Problem

MOST_NAMED = 512
_ACCOUNT = re.compile(r"[a-z_][a-z0-9_-]{0,31}")

Json = dict[str, Any]


def footprint_of(manifest: ManifestDocument, inputs: Json, instance_id: str | None = None) -> dict[str, list[object]]:
    """Return the manifest's footprint, with the accounts of the inputs among its users. The inputs have passed `check`.

    With an `instance_id`, the containers of a version with runtime profiles are in it too, with all that belongs to it.
    """
    listed = {kind: list(entries) for kind, entries in manifest["footprint"].items() if kind != "users_from"}
    named = [value for _, value in _named(manifest, inputs)]
    if named:
        listed["users"] = list(dict.fromkeys([*listed.get("users", ()), *named]))
    if instance_id is not None and runs_images(manifest):
        for kind, entries in container_footprint(instance_id).items():
            listed[kind] = [*listed.get(kind, ()), *entries]
    return listed


def usage_folder(instance_id: str) -> str:
    """Return where the hosts of an instance keep what they count, a file for each member."""
    return f"/var/lib/gpuaas-usage/{instance_id}"


def container_footprint(instance_id: str) -> dict[str, list[object]]:
    """Return what the containers of an instance have on a host. Their names begin with a part of the instance's id: the
    container and its image, its unit, its volumes and its network (docs/howto/run-an-image.md).
    """
    name = f"gpuaas-{instance_id[-10:]}-*"
    folders = ("/etc/systemd/system", "/etc/containers/networks", "/var/lib/containers/storage/volumes")
    paths: list[object] = [f"{folder}/{name}" for folder in (*folders, "/var/lib/gpuaas-containers")]
    paths.append(usage_folder(instance_id))
    return {"units": [f"{name}.service", f"{name}.timer"], "containers": [name], "paths": paths}


def check_footprints(manifest: ManifestDocument, inputs: Json) -> None:
    """Refuse at launch a name that cannot be an account, since teardown looks for it. The problem repeats no values."""
    named = _named(manifest, inputs)
    faults = [
        {"path": spell(path), "message": "This cannot be an account's name"}
        for path, value in named
        if _is_no_account(value)
    ]
    if len(named) > MOST_NAMED:
        faults.append({"path": "", "message": f"{len(named)} accounts are named, {MOST_NAMED} are the most"})
    if faults:
        first = faults[0]
        raise Problem("inputs_invalid", f"{first['path'] or 'inputs'}: {first['message']}.", {"faults": faults[:50]})


def allows_text_at(schema: object, place: str) -> bool:
    """Tell whether inputs of this schema can have a text at this place."""
    return any(_may_be_text(one) for one in _schemas(schema, place.split("/")[1:]))


def allows_value_at(schema: object, place: str) -> bool:
    """Tell whether inputs of this schema can have a text, a number or a choice at this place."""
    return any(_may_be_value(one) for one in _schemas(schema, place.split("/")[1:]))


def answers_at(manifest: ManifestDocument, inputs: Json, place: str) -> list[object]:
    """Return what was answered at a place of the inputs, or its default; empty if there is neither."""
    return [value for _, value in _values(manifest.get("inputs", {}), inputs, place.split("/")[1:], ())]


def schema_at(schema: object, place: str) -> object:
    """Return the schema of a place of inputs that have this one; None if they have no such place."""
    return next(_schemas(schema, place.split("/")[1:]), None)


def _is_no_account(value: object) -> bool:
    return not isinstance(value, str) or value == "root" or _ACCOUNT.fullmatch(value) is None


def _named(manifest: ManifestDocument, inputs: Json) -> list[tuple[Path, object]]:
    schema, places = manifest.get("inputs", {}), manifest["footprint"].get("users_from", ())
    return [found for place in places for found in _values(schema, inputs, place.split("/")[1:], ())]


def _values(schema: object, value: object, parts: list[str], path: Path) -> Iterator[tuple[Path, object]]:
    """Yield the values at the place; where the inputs have none, the schema's default."""
    if value is None and isinstance(schema, Mapping):
        value = schema.get("default")
    if not parts:
        yield from () if value is None else ((path, value),)
    elif parts[0] == "*" and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _values(_schema_below(schema, "*"), item, parts[1:], (*path, index))
    elif isinstance(value, Mapping):
        yield from _values(_schema_below(schema, parts[0]), value.get(parts[0]), parts[1:], (*path, parts[0]))
    elif value is None and parts[0] != "*" and isinstance(schema, Mapping):  # a default may stand further down
        yield from _values(_schema_below(schema, parts[0]), None, parts[1:], (*path, parts[0]))


def _schemas(schema: object, parts: list[str]) -> Iterator[object]:
    if not parts:
        yield schema
    elif (below := _schema_below(schema, parts[0])) is not None:
        yield from _schemas(below, parts[1:])


def _schema_below(schema: object, part: str) -> object:
    if not isinstance(schema, Mapping):
        return None
    if part == "*":
        return schema.get("items")
    properties = schema.get("properties")
    return properties.get(part) if isinstance(properties, Mapping) else None


def _may_be_value(schema: object) -> bool:
    return isinstance(schema, Mapping) and schema.get("type", "string") in ("string", "integer", "number", "boolean")


def _may_be_text(schema: object) -> bool:
    return isinstance(schema, Mapping) and schema.get("type", "string") == "string"
