"""Renders models.py: a dataclass for each schema of an answer, and for each request that is passed as one object."""

import re

from gpuaas_sdk_gen.contract import Contract, Schema
from gpuaas_sdk_gen.types import answered_schemas, class_name, python_type, requested_schemas

HEADER = '''"""Models of requests and answers. Written by tools/sdk-client; change the contract instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.reader import Resource
from gpuaas_sdk.traits import {traits}

'''
# Secrets: kept out of the repr of a record, and so out of logs and debuggers.
SECRET = frozenset({"bundle", "initial_password", "lease_token", "sealed", "secret", "token", "access_token"})
EMPTY = {"str": '""', "int": "0", "float": "0.0", "bool": "False"}


def render_models(contract: Contract, traits: frozenset[str]) -> str:
    """`traits` are the names of classes in traits.py, `<Model>Traits`, that add properties to a model."""
    groups = contract.groups()
    answers, requests = answered_schemas(contract, groups), requested_schemas(contract, groups)
    bases = _bases(contract, answers)
    classes = [_answer(contract, name, bases.get(name), traits) for name in _ordered(answers, bases)]
    classes += [_request(contract, name) for name in _dependent(contract, requests - answers)]
    header = HEADER.format(traits=", ".join(sorted(traits)))
    names = sorted(class_name(name) for name in answers | requests)
    if len(names) > len(set(names)):
        raise ValueError(
            f"two schemas would have the same class name: {[one for one in names if names.count(one) > 1]}"
        )
    listed = "__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n\n\n"
    return header + listed + "\n\n\n".join(classes) + "\n"


def _bases(contract: Contract, names: set[str]) -> dict[str, str]:
    """The base class of each long form: the largest schema of the same family all of whose properties it has."""
    bases = {}
    for name in names:
        properties = contract.schemas[name]["properties"]
        family = [
            other for other in names if other != name and (_family(other) == _family(name) or name.endswith(other))
        ]
        shorter = [one for one in family if _within(contract.schemas[one]["properties"], properties)]
        if shorter:
            bases[name] = max(shorter, key=lambda one: (len(contract.schemas[one]["properties"]), one))
    return bases


def _family(name: str) -> str:
    """The first word of the name: `Instance` for `InstanceSummary`."""
    return re.split("(?<!^)(?=[A-Z])", name)[0]


def _within(short: Schema, long: Schema) -> bool:
    return 2 < len(short) < len(long) and all(long.get(name) == schema for name, schema in short.items())


def _ordered(names: set[str], bases: dict[str, str]) -> list[str]:
    done: list[str] = []
    for name in sorted(names):
        for one in (bases.get(name), name):
            if one is not None and one not in done:
                done.append(one)
    return done


def _dependent(contract: Contract, names: set[str]) -> list[str]:
    """Orders schemas so that nested ones come first."""
    return sorted(names, key=lambda name: (name.endswith("Create"), name))


def _answer(contract: Contract, name: str, base: str | None, traits: frozenset[str]) -> str:
    schema = contract.schemas[name]
    known = contract.schemas[base]["properties"] if base else {}
    own = [f"{name}Traits"] if f"{name}Traits" in traits else []
    parents = ", ".join([base or "Resource", *own])
    fields = [
        _field(one, _tolerant(python_type(what, sent=False), what), what)
        for one, what in _in_order(schema)
        if one not in known
    ]
    return _class(name, parents, schema, fields, "frozen=True, kw_only=True")


def _tolerant(kind: str, schema: Schema) -> tuple[str, str | None]:
    """Returns type and default. An older server may leave out newer fields, so most fields have a default."""
    if kind.endswith("| None"):
        return kind, "None"
    if kind == "datetime":
        return "datetime | None", "None"
    if kind in EMPTY:
        return kind, EMPTY[kind]
    if kind.startswith("list["):
        return kind, "field(default_factory=list)"
    if kind.startswith("Mapping["):
        return kind, "field(default_factory=dict)"
    return kind, None


def _request(contract: Contract, name: str) -> str:
    schema = contract.schemas[name]
    required = schema.get("required", [])
    fields = []
    for one, what in _in_order(schema):
        kind = python_type(what, sent=True)
        if one in required:
            fields.append(_field(one, (kind, None), what))
        else:
            fields.append(_field(one, (kind if kind.endswith("| None") else f"{kind} | None", "None"), what))
    return _class(class_name(name), "", schema, fields, "frozen=True, slots=True, kw_only=True")


def _in_order(schema: Schema) -> list[tuple[str, Schema]]:
    """Required properties in the order of the server's code, then the others by name."""
    properties = dict(schema["properties"])
    first = [name for name in schema.get("required", []) if name in properties]
    return [(name, properties[name]) for name in [*first, *sorted(set(properties) - set(first))]]


def _field(name: str, typed: tuple[str, str | None], schema: Schema) -> str:
    kind, default = typed
    if name == "id":
        default = None
    if name in SECRET:
        default = f"field(repr=False{'' if default is None else f', default={default}'})"
    description = schema.get("description")
    note = "".join(f"    # {line}\n" for line in description.splitlines()) if description else ""
    return f"{note}    {name}: {kind}{'' if default is None else f' = {default}'}\n"


def _class(name: str, parents: str, schema: Schema, fields: list[str], options: str) -> str:
    description = schema.get("description")
    doc = f'    """{description}"""\n\n' if description else ""
    body = "".join(fields) or "    pass\n"
    bases = f"({parents})" if parents else ""
    return f"@dataclass({options})\nclass {name}{bases}:\n{doc}{body}".rstrip()
