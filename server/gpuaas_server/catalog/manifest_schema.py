"""The committed JSON Schema of manifests (app-manifest.schema.json in this folder), the schema of an app's inputs, and the
values that people give for them.

Patterns run in linear time, nothing is fetched, and an untrusted schema may not refer to itself: with references a
few lines can describe work without end.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

from gpuaas_server.catalog.profile_rules import PLACE as RUNTIME_PROFILE
from gpuaas_server.catalog.profile_rules import REFUSED_FIELDS
from gpuaas_server.catalog.yaml_text import MOST_FAULTS, Document, Fault, Path, spell
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.operations.service import WITH_OPTIONS

if TYPE_CHECKING:
    import jsonschema_rs

_SCHEMA_FILE = File(__file__).with_name("app-manifest.schema.json")
META_SCHEMA = "https://json-schema.org/draft/2020-12/schema"
PATTERN_BYTES = 1 << 20
# What would make a schema refer to another place, or to itself.
_REFERRING = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "$id", "$anchor", "$dynamicAnchor", "$vocabulary"})
_MAX_MESSAGE = 240
_MOST_INPUT_FAULTS = 50


def validator(schema: Any, mask: str | None = None) -> "jsonschema_rs.Draft202012Validator":
    """Return a validator whose patterns run in linear time. The library, which takes megabytes, is loaded when it is needed."""
    import jsonschema_rs

    linear = jsonschema_rs.RegexOptions(size_limit=PATTERN_BYTES, dfa_size_limit=PATTERN_BYTES)
    return jsonschema_rs.Draft202012Validator(schema, mask=mask, pattern_options=linear, offline=True)


def schema_text() -> str:
    """Return the schema as it is published, with the kinds of operation that take options."""
    return _SCHEMA_FILE.read_text().replace('["<kinds of operation>"]', json.dumps(WITH_OPTIONS))


@cache
def required() -> frozenset[str]:
    """Return the fields that every manifest must have."""
    return frozenset(json.loads(schema_text())["required"])


@cache
def _manifests() -> "jsonschema_rs.Draft202012Validator":
    return validator(json.loads(schema_text()))


@cache
def _schemas() -> "jsonschema_rs.Draft202012Validator":
    return validator({"$ref": META_SCHEMA})


def faults(document: Document) -> list[Fault]:
    return [
        fault
        for _, error in zip(range(MOST_FAULTS), _manifests().iter_errors(document.value), strict=False)
        for fault in _explain(document, error)
    ]


def _explain(document: Document, error: "jsonschema_rs.ValidationError") -> Iterator[Fault]:
    path = tuple(error.instance_path)
    unexpected = getattr(error.kind, "unexpected", None)
    if unexpected:  # the key itself is wrong, so each fault points at its key
        yield from (document.fault_at_key((*path, name), _unexpected((*path, name))) for name in unexpected)
    else:
        yield document.fault(path, shortened(error.message))


def _unexpected(path: Path) -> str:
    name = str(path[-1])
    reason = REFUSED_FIELDS.get(name) if RUNTIME_PROFILE in path else None
    return f"There is no field {name[:60]} here.{f' {reason}' if reason else ''}"


def asked_faults(document: Document, manifest: dict[str, Any]) -> list[Fault]:
    """List the faults of the app's own schemas: what people are asked at launch (`inputs`) and by operations (`options`)."""
    options = manifest.get("options")
    asked: list[tuple[Path, object]] = [(("inputs",), manifest.get("inputs"))]
    asked += [(("options", kind), schema) for kind, schema in options.items()] if isinstance(options, dict) else []
    return [fault for root, schema in asked for fault in _schema_faults(document, schema, root)]


def _schema_faults(document: Document, schema: object, root: Path) -> list[Fault]:
    if not isinstance(schema, dict):
        return []  # absent, or refused by the manifest's schema already
    found = [
        document.fault_at_key(path, f"References are not taken in {root[0]}; write it out.")
        for path in _referring(schema, root)
    ]
    if schema.get("$schema", META_SCHEMA) != META_SCHEMA:
        found.append(document.fault((*root, "$schema"), f"{str(root[0]).capitalize()} are {META_SCHEMA}."))
    if schema.get("type") != "object":
        found.append(document.fault((*root, "type"), f"The root of {root[0]} has the type object."))
    if found:
        return found
    errors = list(_schemas().iter_errors(schema))[:MOST_FAULTS]
    if errors:
        return [document.fault((*root, *error.instance_path), shortened(error.message)) for error in errors]
    return _uncompilable(document, schema, root)


def _uncompilable(document: Document, schema: object, root: Path) -> list[Fault]:
    """Find what a meta-schema cannot express: a pattern that is no regular expression, or needs more than linear time."""
    try:
        validator(schema)
    except ValueError as error:  # jsonschema_rs.ValidationError is one
        path = tuple(getattr(error, "instance_path", ()))
        return [document.fault((*root, *path), shortened(getattr(error, "message", "This is not a JSON Schema.")))]
    return []


def _referring(value: object, path: Path) -> Iterator[Path]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in _REFERRING:
                yield (*path, key)
            yield from _referring(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _referring(inner, (*path, index))


def shortened(message: str) -> str:
    return message if len(message) <= _MAX_MESSAGE else f"{message[:_MAX_MESSAGE]}..."


def check_inputs(
    schema: dict[str, Any], values: dict[str, Any], code: str = "inputs_invalid", what: str = "input"
) -> None:
    """Raise the problem that names every fault of a user's values. The schema is a registered one, so it compiles.

    Values are never repeated in a fault: one may be a secret.
    """
    checked = validator(schema, mask="the value")
    faults = [
        _input_fault(error, what)
        for _, error in zip(range(_MOST_INPUT_FAULTS), checked.iter_errors(values), strict=False)
    ]
    if faults:
        first = faults[0]
        raise Problem(code, f"{first['path'] or f'{what}s'}: {first['message']}.", {"faults": faults})


def _input_fault(error: "jsonschema_rs.ValidationError", what: str) -> dict[str, str]:
    unexpected = getattr(error.kind, "unexpected", None)
    if unexpected:
        message = f"There is no {what} {', '.join(name[:60] for name in unexpected[:5])}"
    else:
        message = shortened(error.message)
    return {"path": spell(tuple(error.instance_path)), "message": message}
