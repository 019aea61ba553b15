"""Compares two JSON schemas of an OpenAPI document: would the receiver refuse something that the sender may send?

In a request, clients send by the old contract and the server accepts by the new one; in a response it is the other way
round. A client relies on the types, formats, enums and required fields of a response. It ignores fields that it does not
know, and does not rely on lengths and patterns.
"""

from collections.abc import Iterator
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
_NAME = "x-schema"  # notes the name by which an alternative was referred to, and which of the schema's it is
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
        accepting = list(_alternatives(self.receiver, _as_schema(accepted)))
        found = [
            complaint
            for alternative in _alternatives(self.sender, _as_schema(sent))
            for complaint in self._refused(alternative, accepting, where)
        ]
        return list(dict.fromkeys(found))

    def _refused(self, sent: Schema, accepting: list[Schema], where: str) -> list[str]:
        if "enum" in sent:
            lost = [value for value in sent["enum"] if not any(_takes(one, value) for one in accepting)]
            return [self._say(where, f"{lost} is no longer accepted", f"{lost} may be returned now")] if lost else []
        fitting = [one for one in accepting if _type_fits(sent.get("type"), one.get("type"))]
        if not fitting:
            kind = sent.get("type", "any type")
            return [self._say(where, f"{kind} is no longer accepted", f"{kind} may be returned now")]
        return min((self._unfit(sent, one, where) for one in fitting), key=len)

    def _unfit(self, sent: Schema, accepted: Schema, where: str) -> list[str]:
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
        yield {**{key: value for key, value in schema.items() if key != "const"}, "enum": [schema["const"]]}
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
    if other.keys() - _ANNOTATIONS:  # more than the named schema
        merged.pop(_NAME, None)
    merged["required"] = sorted({*one.get("required", ()), *other.get("required", ())})
    merged["properties"] = {**one.get("properties", {}), **other.get("properties", {})}
    for name in one.get("properties", {}).keys() & other.get("properties", {}).keys():
        merged["properties"][name] = {"allOf": [one["properties"][name], other["properties"][name]]}
    if "enum" in one and "enum" in other:
        merged["enum"] = [value for value in one["enum"] if value in other["enum"]]
    if False in (one.get("additionalProperties"), other.get("additionalProperties")):
        merged["additionalProperties"] = False
    merged.update({key: max(one[key], other[key]) for key in _LOWER if key in one and key in other})
    merged.update({key: min(one[key], other[key]) for key in _UPPER if key in one and key in other})
    return merged


def _type_fits(sent: str | None, accepted: str | None) -> bool:
    return accepted in (None, sent) or (sent, accepted) == ("integer", "number")


def _takes(accepted: Schema, value: Any) -> bool:
    if "enum" in accepted:
        return value in accepted["enum"]
    kind = accepted.get("type")
    return kind is None or (isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool)))


def _tighter(sent: Schema, accepted: Schema, where: str) -> list[str]:
    """Bounds and patterns that the receiver did not have, or that are narrower now."""
    narrower = [key for key in _LOWER if key in accepted and not (key in sent and sent[key] >= accepted[key])]
    narrower += [key for key in _UPPER if key in accepted and not (key in sent and sent[key] <= accepted[key])]
    narrower += [key for key in _EXACT if accepted.get(key) and accepted[key] != sent.get(key)]
    return [f"{where}: {key} is {str(accepted[key])[:60]} now" for key in narrower]
