"""Compares two JSON schemas of an OpenAPI document: would the receiver refuse something that the sender may send?

In a request, clients send by the old contract and the server accepts by the new one; in a response it is the other way
round. A client relies on the types, formats, enums and required fields of a response. It ignores fields that it does not
know, and does not rely on lengths and patterns. What it leaves out of a request, it relies on the `default` of.
"""

import re
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass, field
from typing import Any, Literal

Schema = dict[str, Any]
Direction = Literal["request", "response"]

_LOWER = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
_UPPER = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
# Nothing looks into these: a change is reported as a break, for a person to decide.
_OPAQUE = (
    "not",
    "if",
    "then",
    "else",
    "contains",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "prefixItems",
)
_EXACT = ("pattern", "multipleOf", "propertyNames", "uniqueItems", "contentEncoding", "contentMediaType")
_UNIONS = ("anyOf", "oneOf")
_ANNOTATIONS = {"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly"}
_DISCRIMINATOR = "discriminator"
_NAME = "x-schema"  # notes the name by which an alternative was referred to, and which of the schema's it is
_SIZES: dict[type[Sized], tuple[str, str]] = {
    str: ("minLength", "maxLength"),
    list: ("minItems", "maxItems"),
    dict: ("minProperties", "maxProperties"),
}
_ABSENT = object()
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


def resolve(document: Schema, schema: Schema) -> Schema:
    """Follow `$ref` within the document."""
    while "$ref" in schema:
        found: Any = document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part.replace("~1", "/").replace("~0", "~")]
        schema = found
    return schema


@dataclass(slots=True)
class SchemaComparison:
    """One direction between two documents. What is found in a named schema is reported under its name."""

    sender: Schema
    receiver: Schema
    direction: Direction
    _found: dict[tuple[Any, Any], list[str]] = field(default_factory=dict)

    def complaints(self, sent: Any, accepted: Any, where: str) -> list[str]:
        """List what a receiver that accepts `accepted` would refuse of `sent`."""
        accepting = [one for one in _alternatives(self.receiver, _as_schema(accepted)) if one.get("enum") != []]
        found = [
            complaint
            for alternative in _alternatives(self.sender, _as_schema(sent))
            for complaint in self._refused(alternative, accepting, where)
        ]
        return list(dict.fromkeys(found + self._default_breaks(sent, accepted, where)))

    def _default_breaks(self, sent: Any, accepted: Any, where: str) -> list[str]:
        """Tell when what a client leaves out of a request means something else than it did."""
        before, after = _default(self.sender, _as_schema(sent)), _default(self.receiver, _as_schema(accepted))
        if self.direction != "request" or before is _ABSENT or _is_same(before, after):
            return []
        return [f"{where}: the default is no longer {before!r}"]

    def _refused(self, sent: Schema, accepting: list[Schema], where: str) -> list[str]:
        if "enum" in sent:
            lost = [value for value in sent["enum"] if not any(self._takes(one, sent, value) for one in accepting)]
            return [self._say(where, f"{lost} is no longer accepted", f"{lost} may be returned now")] if lost else []
        fitting = [one for one in accepting if _type_fits(sent.get("type"), one.get("type"))]
        if not fitting:
            kind = sent.get("type", "any type")
            return [self._say(where, f"{kind} is no longer accepted", f"{kind} may be returned now")]
        return min((self._unfit(sent, one, where) for one in fitting), key=len)

    def _takes(self, accepted: Schema, sent: Schema, value: Any) -> bool:
        """Tell whether the receiver takes one value of an enumeration. What nothing looks into must not have changed."""
        if not _is_of_type(accepted.get("type"), value) or not _is_one_of(accepted.get("enum", [value]), value):
            return False
        if any(key in accepted and accepted[key] != sent.get(key) for key in _OPAQUE):
            return False
        promised = self.direction == "response" and "enum" in accepted  # the value itself
        if "format" in accepted and accepted["format"] != sent.get("format") and not promised:
            return False
        if self.direction == "request" and not _is_within(accepted, sent, value):
            return False
        return self._takes_parts(accepted, value)

    def _takes_parts(self, accepted: Schema, value: Any) -> bool:
        if isinstance(value, list):
            return not any(self.complaints({"const": one}, accepted.get("items", True), "") for one in value)
        if not isinstance(value, dict):
            return True
        known, others = accepted.get("properties", {}), accepted.get("additionalProperties", True)
        if not value.keys() >= set(accepted.get("required", ())):
            return False
        if others is False and self.direction == "response":
            others = True
        return not any(self.complaints({"const": one}, known.get(name, others), "") for name, one in value.items())

    def _unfit(self, sent: Schema, accepted: Schema, where: str) -> list[str]:
        return self._discriminator_breaks(sent, accepted, where) + self._unfit_named(sent, accepted, where)

    def _discriminator_breaks(self, sent: Schema, accepted: Schema, where: str) -> list[str]:
        """Tell when the receiver chooses an alternative by another field, or another one for the same value."""
        if _DISCRIMINATOR not in accepted:
            return []
        one, other = sent.get(_DISCRIMINATOR, {}), accepted[_DISCRIMINATOR]
        chosen, known = one.get("mapping", {}), other.get("mapping", {})
        if one.get("propertyName") == other.get("propertyName") and chosen.items() <= known.items():
            return []
        return [f"{where}: discriminator changed"]

    def _unfit_named(self, sent: Schema, accepted: Schema, where: str) -> list[str]:
        names = sent.get(_NAME), accepted.get(_NAME)
        if names[0] is None or names[1] is None:
            return self._differences(sent, accepted, where)
        if names not in self._found:
            self._found[names] = []  # while it is under way: schemas refer to each other, and to themselves
            same = names[0][0] == names[1][0]
            named = f"schema {names[0][0]} ({self.direction})" if same else where
            self._found[names] = self._differences(sent, accepted, named)
        return self._found[names]

    def _differences(self, sent: Schema, accepted: Schema, where: str) -> list[str]:
        found = []
        if "enum" in accepted:
            only = accepted["enum"]
            found.append(
                self._say(where, f"only {only} is accepted now", f"a value other than {only} may be returned now")
            )
        if "format" in accepted and accepted["format"] != sent.get("format"):
            form = accepted["format"]
            found.append(self._say(where, f"it must be a {form} now", f"it may be something other than a {form} now"))
        found += [f"{where}: {key} changed" for key in _OPAQUE if sent.get(key) != accepted.get(key)]
        if self.direction == "request":
            found += _tighter(sent, accepted, where)
        if "items" in accepted:
            found += self.complaints(sent.get("items", True), accepted["items"], f"{where}[]")
        return found + self._unfit_fields(sent, accepted, where)

    def _unfit_fields(self, sent: Schema, accepted: Schema, where: str) -> list[str]:
        fields, known = sent.get("properties", {}), accepted.get("properties", {})
        others = accepted.get("additionalProperties", True)
        found = self._unsure_fields(sent, accepted, where)
        for name in sorted(fields.keys() & known.keys()):
            found += self.complaints(fields[name], known[name], f"{where}.{name}")
        gone = fields.keys() - known.keys() if self.direction == "request" else known.keys() - fields.keys()
        for name in sorted(gone):
            if self.direction == "request" and isinstance(others, dict) and others:
                found += self.complaints(fields[name], others, f"{where}.{name}")
            else:
                found.append(f"{where}.{name}: it was removed")
        return found + self._unfit_others(sent.get("additionalProperties", True), others, where)

    def _unsure_fields(self, sent: Schema, accepted: Schema, where: str) -> list[str]:
        """Return the fields that the receiver needs and the sender may leave out."""
        needed = set(accepted.get("required", ())) - set(sent.get("required", ()))
        if self.direction == "response":  # a removed field is reported as removed
            needed &= sent.get("properties", {}).keys()
        return [self._say(f"{where}.{name}", "it is required now", "it may be missing now") for name in sorted(needed)]

    def _unfit_others(self, sent: Any, accepted: Any, where: str) -> list[str]:
        """Return the fields that have no name in the schema: those of a dictionary."""
        if accepted is True or accepted == {} or sent is False:
            return []
        if accepted is False:
            return [f"{where}: other fields are no longer accepted"] if self.direction == "request" else []
        return self.complaints(sent, accepted, f"{where}.*")

    def _say(self, where: str, request: str, answer: str) -> str:
        return f"{where}: {request if self.direction == 'request' else answer}"


def _as_schema(schema: Any) -> Schema:
    """Return the schema: `true` and an absent schema take everything, `false` takes nothing."""
    if isinstance(schema, dict):
        return schema
    return {} if schema is not False else {"enum": []}


def _alternatives(document: Schema, schema: Schema) -> Iterator[Schema]:
    """Write a schema as a union of schemas without `$ref`, `allOf`, `anyOf`, `oneOf`, `const` and lists of types."""
    if "$ref" in schema:
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        name = schema["$ref"].rpartition("/")[2]
        for number, one in enumerate(_alternatives(document, resolve(document, schema))):
            yield from _conjunctions(document, [{**one, _NAME: (name, number)}, rest])
        return
    if "allOf" in schema:
        rest = {key: value for key, value in schema.items() if key != "allOf"}
        yield from _conjunctions(document, [*schema["allOf"], rest])
        return
    for key in _UNIONS:
        if key in schema:
            rest = {name: value for name, value in schema.items() if name != key}
            for branch in schema[key]:
                yield from _conjunctions(document, [branch, rest])
            return
    if "const" in schema:
        rest = {key: value for key, value in schema.items() if key != "const"}
        yield from _conjunctions(document, [{"enum": [schema["const"]]}, rest])
    elif isinstance(schema.get("type"), list):
        for kind in schema["type"]:
            yield {**schema, "type": kind}
    else:
        yield schema


def _conjunctions(document: Schema, parts: list[Any]) -> Iterator[Schema]:
    """Return what all parts accept, as alternatives."""
    first, *others = [_as_schema(part) for part in parts]
    for one in _alternatives(document, first):
        if not others:
            yield one
            continue
        for other in _conjunctions(document, others):
            yield _merge_schemas(one, other)


def _merge_schemas(one: Schema, other: Schema) -> Schema:
    merged = {**one, **other}
    if other.keys() - _ANNOTATIONS - {_DISCRIMINATOR}:  # more than the named schema
        merged.pop(_NAME, None)
    merged["required"] = sorted({*one.get("required", ()), *other.get("required", ())})
    merged["properties"] = {**one.get("properties", {}), **other.get("properties", {})}
    for name in one.get("properties", {}).keys() & other.get("properties", {}).keys():
        merged["properties"][name] = {"allOf": [one["properties"][name], other["properties"][name]]}
    both = one.keys() & other.keys()
    if "enum" in both:
        merged["enum"] = [value for value in one["enum"] if _is_one_of(other["enum"], value)]
    for key in ("items", "additionalProperties"):
        if key in both and one[key] != other[key]:
            merged[key] = {"allOf": [one[key], other[key]]}
    if False in (one.get("additionalProperties"), other.get("additionalProperties")):
        merged["additionalProperties"] = False
    merged.update({key: max(one[key], other[key]) for key in _LOWER if key in both})
    merged.update({key: min(one[key], other[key]) for key in _UPPER if key in both})
    differing = (key for key in ("format", *_OPAQUE, *_EXACT) if key in both and one[key] != other[key])
    merged.update({key: (one[key], other[key]) for key in differing})  # both hold; it is compared as it stands
    if "type" in both and one["type"] != other["type"]:
        if {one["type"], other["type"]} != {"integer", "number"}:
            return {"enum": []}  # nothing is of both types
        merged["type"] = "integer"
    return merged


def _type_fits(sent: str | None, accepted: str | None) -> bool:
    return accepted in (None, sent) or (sent, accepted) == ("integer", "number")


def _is_of_type(kind: str | None, value: Any) -> bool:
    return kind is None or (isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool)))


def _is_one_of(values: Iterable[Any], value: Any) -> bool:
    return any(_is_same(one, value) for one in values)


def _is_same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal in JSON, where `true` is not 1."""
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _default(document: Schema, schema: Schema) -> Any:
    while "default" not in schema and "$ref" in schema:
        schema = resolve(document, {"$ref": schema["$ref"]})
    return schema.get("default", _ABSENT)


def _is_within(accepted: Schema, sent: Schema, value: Any) -> bool:
    """Tell whether a value has the size and the pattern that the receiver demands."""
    if any(accepted.get(key) and accepted[key] != sent.get(key) for key in _EXACT if key != "pattern"):
        return False
    if isinstance(value, int | float):
        least, above = accepted.get("minimum", value), accepted.get("exclusiveMinimum", value - 1)
        most, below = accepted.get("maximum", value), accepted.get("exclusiveMaximum", value + 1)
        return bool(least <= value <= most and above < value < below)
    for kind, (lower, upper) in _SIZES.items():
        if isinstance(value, kind) and not accepted.get(lower, 0) <= len(value) <= accepted.get(upper, len(value)):
            return False
    return not isinstance(value, str) or all(_matches(pattern, value) for pattern in _flat(accepted.get("pattern", ())))


def _matches(pattern: str, value: str) -> bool:
    try:
        return re.search(pattern, value) is not None
    except re.error:  # not a pattern of Python's
        return False


def _flat(patterns: Any) -> Iterator[str]:
    """Return the patterns that hold together: one, or what _merge_schemas made of several."""
    if isinstance(patterns, str):
        yield patterns
    else:
        for one in patterns:
            yield from _flat(one)


def _tighter(sent: Schema, accepted: Schema, where: str) -> list[str]:
    """Bounds and patterns that the receiver did not have, or that are narrower now."""
    narrower = [key for key in _LOWER if key in accepted and not (key in sent and sent[key] >= accepted[key])]
    narrower += [key for key in _UPPER if key in accepted and not (key in sent and sent[key] <= accepted[key])]
    narrower += [key for key in _EXACT if accepted.get(key) and accepted[key] != sent.get(key)]
    return [f"{where}: {key} is {str(accepted[key])[:60]} now" for key in narrower]
