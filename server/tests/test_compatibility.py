"""What breaks clients is found however deep it lies, in the direction in which it breaks; what breaks nobody is no break."""

import copy
from typing import Any

import pytest

from gpuaas_server.compatibility import breaking_changes

Document = dict[str, Any]
Place = tuple[str | int, ...]
GONE = object()
JSON = "application/json"

OWNER = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TAG = {"type": "object", "properties": {"key": {"type": "string"}, "child": {"$ref": "#/components/schemas/Tag"}}}
FIELDS = {
    "kind": {"type": "string", "enum": ["cat", "dog"]},
    "age": {"type": "integer", "minimum": 0},
    "born": {"type": "string", "format": "date-time"},
    "chip": {"type": "string"},
    "owner": {"anyOf": [{"$ref": "#/components/schemas/Owner"}, {"type": "null"}]},
    "tags": {"type": "array", "items": {"$ref": "#/components/schemas/Tag"}},
    "size": {"type": "string", "enum": ["s", "xl"]},
    "weight": {"type": "integer", "enum": [1, 20]},
    "limit": {"type": "integer", "default": 20},
    "food": {
        "oneOf": [{"$ref": "#/components/schemas/Dry"}, {"$ref": "#/components/schemas/Wet"}],
        "discriminator": {
            "propertyName": "form",
            "mapping": {"dry": "#/components/schemas/Dry", "wet": "#/components/schemas/Wet"},
        },
    },
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "breeder": {"allOf": [{"$ref": "#/components/schemas/Owner"}, {"properties": {"vet": {"type": "boolean"}}}]},
}
FOODS = {
    name: {
        "type": "object",
        "properties": {"form": {"const": name.lower()}, "sort": {"type": "string"}},
        "required": ["form"],
    }
    for name in ("Dry", "Wet")
}
WAYS = [{"bearer": []}, {"cookie": []}, {"oauth": ["pets"]}]
CONTRACT: Document = {
    "paths": {
        "/pets/{id}": {
            "parameters": [
                {"in": "path", "name": "id", "required": True, "schema": {"type": "string", "maxLength": 40}}
            ],
            "post": {
                "operationId": "pet_create",
                "x-call": "pets.create",
                "security": WAYS,
                "parameters": [{"in": "query", "name": "sort", "schema": {"enum": ["name", "age"], "type": "string"}}],
                "requestBody": {"content": {JSON: {"schema": {"$ref": "#/components/schemas/PetCreate"}}}},
                "responses": {
                    "201": {
                        "headers": {"ETag": {"schema": {"type": "string"}}},
                        "content": {JSON: {"schema": {"$ref": "#/components/schemas/Pet"}}},
                    },
                    "307": {},
                    "409": {"content": {JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}}},
                },
            },
        }
    },
    "components": {
        "schemas": {
            **FOODS,
            "Owner": OWNER,
            "Tag": TAG,
            "Pet": {"type": "object", "properties": FIELDS, "required": ["kind", "owner"]},
            "PetCreate": {"type": "object", "properties": FIELDS, "required": ["kind"]},
            "Problem": {"type": "object", "properties": {"code": {"type": "string"}}, "required": ["code"]},
        }
    },
}
PATH: Place = ("paths", "/pets/{id}")
POST: Place = (*PATH, "post")
SORT: Place = (*POST, "parameters", 0)
ID: Place = (*PATH, "parameters", 0, "schema")
ANSWER: Place = (*POST, "responses", "201")
HEADERS: Place = (*ANSWER, "headers")
SCHEMAS: Place = ("components", "schemas")
TAKEN: Place = (*SCHEMAS, "PetCreate", "properties")
GIVEN: Place = (*SCHEMAS, "Pet", "properties")
ANY_OWNER = {"anyOf": [{"$ref": "#/components/schemas/Owner"}, {"type": "null"}, {"type": "string"}]}
NEEDS_KEY = {"type": "array", "items": {"type": "object", "required": ["key"]}}
NEEDS_AGE = {"properties": {"age": {"type": "integer"}}, "required": ["age"]}


def changed(place: Place, value: Any) -> Document:
    """The contract with another value at a place, or without it."""
    document = copy.deepcopy(CONTRACT)  # `FIELDS` is in it twice: each place has its own copy then
    document["components"]["schemas"]["PetCreate"]["properties"] = copy.deepcopy(FIELDS)
    holder: Any = document
    for part in place[:-1]:
        holder = holder[part]
    if value is GONE:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    return document


BREAKS: list[tuple[str, Place, Any]] = [
    ("POST /pets/{id} was removed", PATH, GONE),
    ("POST /pets/{id} was removed", POST, GONE),
    ("POST /pets/{id}: operationId changed to pet_make", (*POST, "operationId"), "pet_make"),
    ("POST /pets/{id}: clients would call it pets.make", (*POST, "x-call"), "pets.make"),
    ("POST /pets/{id}: cookie is no longer enough", (*POST, "security"), [{"bearer": []}]),
    (
        "POST /pets/{id}: oauth (pets) is no longer enough",
        (*POST, "security", 2),
        {"oauth": ["pets", "owners"]},
    ),
    ("POST /pets/{id}: cookie is no longer enough", (*POST, "security", 1), {"cookie": [], "token": []}),
    # parameters
    ("POST /pets/{id}: parameter query/sort was removed", SORT, GONE),
    ("POST /pets/{id}: parameter path/id was removed", (*PATH, "parameters"), []),
    ("POST /pets/{id}: parameter query/sort is required now", (*SORT, "required"), True),
    (
        "POST /pets/{id}: parameter header/Why is new and required",
        (*PATH, "parameters"),
        [CONTRACT["paths"]["/pets/{id}"]["parameters"][0], {"in": "header", "name": "Why", "required": True}],
    ),
    ("POST /pets/{id}: parameter query/sort: ['age'] is no longer accepted", (*SORT, "schema", "enum"), ["name"]),
    ("POST /pets/{id}: parameter path/id: maxLength is 20 now", (*ID, "maxLength"), 20),
    ("POST /pets/{id}: parameter path/id: string is no longer accepted", (*ID, "type"), "integer"),
    ("POST /pets/{id}: parameter query/sort: explode changed", (*SORT, "explode"), False),
    # bodies
    ("POST /pets/{id}: a body is required now", (*POST, "requestBody", "required"), True),
    ("POST /pets/{id}: its body was removed", (*POST, "requestBody"), GONE),
    (f"POST /pets/{{id}}: body: {JSON} was removed", (*POST, "requestBody", "content"), {"text/plain": {}}),
    # answers
    ("POST /pets/{id}: response 201 was removed", ANSWER, GONE),
    ("POST /pets/{id}: response 202 is new", (*POST, "responses", "202"), {}),
    ("POST /pets/{id}: response 307 was removed", (*POST, "responses", "307"), GONE),
    ("POST /pets/{id}: response 201: header ETag was removed", HEADERS, {}),
    (
        "POST /pets/{id}: response 201: header ETag: integer may be returned now",
        (*HEADERS, "ETag", "schema", "type"),
        "integer",
    ),
    (f"POST /pets/{{id}}: response 201: {JSON} was removed", (*ANSWER, "content"), {"text/plain": {}}),
    ("schema Problem (response).code: it may be missing now", (*SCHEMAS, "Problem", "required"), []),
    # what is taken
    ("schema PetCreate (request).age: it is required now", (*SCHEMAS, "PetCreate", "required"), ["age", "kind"]),
    ("schema PetCreate (request).chip: it was removed", (*TAKEN, "chip"), GONE),
    (
        "schema PetCreate (request): other fields are no longer accepted",
        (*SCHEMAS, "PetCreate", "additionalProperties"),
        False,
    ),
    ("schema PetCreate (request).kind: ['dog'] is no longer accepted", (*TAKEN, "kind", "enum"), ["cat"]),
    ("schema PetCreate (request).kind: ['dog'] is no longer accepted", (*TAKEN, "kind"), {"const": "cat"}),
    ("schema PetCreate (request).chip: only ['a', 'b'] is accepted now", (*TAKEN, "chip", "enum"), ["a", "b"]),
    ("schema PetCreate (request).chip: it must be a uuid now", (*TAKEN, "chip", "format"), "uuid"),
    ("schema PetCreate (request).chip: pattern is ^a now", (*TAKEN, "chip", "pattern"), "^a"),
    ("schema PetCreate (request).chip: not changed", (*TAKEN, "chip", "not"), {"const": "c"}),
    ("schema PetCreate (request).age: minimum is 1 now", (*TAKEN, "age", "minimum"), 1),
    ("schema PetCreate (request).age: maximum is 9 now", (*TAKEN, "age", "maximum"), 9),
    ("schema PetCreate (request).age: integer is no longer accepted", (*TAKEN, "age", "type"), "string"),
    ("schema PetCreate (request).owner: null is no longer accepted", (*TAKEN, "owner", "anyOf", 1), GONE),
    ("schema PetCreate (request).tags: maxItems is 3 now", (*TAKEN, "tags", "maxItems"), 3),
    ("schema PetCreate (request).tags[]: object is no longer accepted", (*TAKEN, "tags", "items"), {"type": "string"}),
    (
        "schema PetCreate (request).labels.*: string is no longer accepted",
        (*TAKEN, "labels", "additionalProperties"),
        {"type": "integer"},
    ),
    ("schema PetCreate (request).breeder.age: it is required now", (*TAKEN, "breeder", "allOf", 1), NEEDS_AGE),
    ("schema PetCreate (request).size: ['xl'] is no longer accepted", (*TAKEN, "size", "maxLength"), 1),
    ("schema PetCreate (request).size: ['xl'] is no longer accepted", (*TAKEN, "size", "pattern"), "^.$"),
    ("schema PetCreate (request).size: ['s', 'xl'] is no longer accepted", (*TAKEN, "size", "format"), "uuid"),
    ("schema PetCreate (request).weight: [1] is no longer accepted", (*TAKEN, "weight", "minimum"), 2),
    (
        "schema PetCreate (request).size: ['xl'] is no longer accepted",
        (*TAKEN, "size"),
        {"type": "string", "maxLength": 1},
    ),
    (
        "schema PetCreate (request).tags[].key: it is required now",
        (*TAKEN, "tags"),
        {"allOf": [NEEDS_KEY, {"items": {"$ref": "#/components/schemas/Tag"}}]},
    ),
    (
        "schema PetCreate (request).chip: string is no longer accepted",
        (*TAKEN, "chip"),
        {"allOf": [{"type": "integer"}, {"type": "string"}]},
    ),
    (
        "schema PetCreate (request).chip: pattern is ('^a', '^b') now",
        (*TAKEN, "chip"),
        {"allOf": [{"type": "string", "pattern": "^a"}, {"pattern": "^b"}]},
    ),
    (
        "schema PetCreate (request).food: discriminator changed",
        (*TAKEN, "food", "discriminator", "mapping"),
        {"dry": "#/components/schemas/Wet", "wet": "#/components/schemas/Dry"},
    ),
    ("schema PetCreate (request).limit: the default is no longer 20", (*TAKEN, "limit", "default"), 50),
    ("schema PetCreate (request).limit: the default is no longer 20", (*TAKEN, "limit", "default"), GONE),
    # what is given
    ("schema Pet (response).born: ['c'] may be returned now", (*GIVEN, "born"), {"const": "c"}),
    ("schema Pet (response).kind: it may be missing now", (*SCHEMAS, "Pet", "required"), ["owner"]),
    ("schema Pet (response).chip: it was removed", (*GIVEN, "chip"), GONE),
    ("schema Pet (response).kind: ['fox'] may be returned now", (*GIVEN, "kind", "enum"), ["cat", "dog", "fox"]),
    (
        "schema Pet (response).kind: a value other than ['cat', 'dog'] may be returned now",
        (*GIVEN, "kind", "enum"),
        GONE,
    ),
    ("schema Pet (response).born: it may be something other than a date-time now", (*GIVEN, "born", "format"), GONE),
    ("schema Pet (response).age: number may be returned now", (*GIVEN, "age", "type"), "number"),
    ("schema Pet (response).age: null may be returned now", (*GIVEN, "age", "type"), ["integer", "null"]),
    ("schema Pet (response).age: any type may be returned now", (*GIVEN, "age"), {}),
    ("schema Pet (response).owner: string may be returned now", (*GIVEN, "owner"), ANY_OWNER),
    ("schema Pet (response).labels.*: any type may be returned now", (*GIVEN, "labels", "additionalProperties"), GONE),
    # what is named, in both directions and within itself
    (
        "schema Owner (request).name: string is no longer accepted",
        (*SCHEMAS, "Owner", "properties", "name", "type"),
        "null",
    ),
    (
        "schema Owner (response).name: null may be returned now",
        (*SCHEMAS, "Owner", "properties", "name", "type"),
        "null",
    ),
    ("schema Tag (response).key: it was removed", (*SCHEMAS, "Tag", "properties", "key"), GONE),
    ("schema Tag (response).child: it was removed", (*SCHEMAS, "Tag", "properties", "child"), GONE),
]


@pytest.mark.parametrize(("complaint", "place", "value"), BREAKS, ids=[complaint for complaint, _, _ in BREAKS])
def test_a_break_is_found(complaint: str, place: Place, value: Any) -> None:
    assert complaint in breaking_changes(CONTRACT, changed(place, value))


ADDITIONS: list[tuple[str, Place, Any]] = [
    ("a path", ("paths", "/owners"), {"get": {"responses": {}}}),
    ("a method", (*PATH, "get"), {"operationId": "pet_show", "responses": {}}),
    ("an optional parameter", (*POST, "parameters", 0, "description"), "how"),
    ("another way to authenticate", (*POST, "security"), [*WAYS, {"token": []}]),
    ("a scope less", (*POST, "security", 2), {"oauth": []}),
    ("an enum within a new bound", (*TAKEN, "weight", "maximum"), 20),
    ("an enum that fits a new pattern", (*TAKEN, "size", "pattern"), "^[a-z]+$"),
    ("a bound of an enum that is given", (*GIVEN, "size", "maxLength"), 1),
    ("a format of an enum that is given", (*GIVEN, "size", "format"), "letters"),
    ("a default where there was none", (*TAKEN, "chip", "default"), "none"),
    ("another default of what is given", (*GIVEN, "limit", "default"), 50),
    ("a type, said twice", (*TAKEN, "limit"), {"allOf": [{"type": "integer"}, {"type": "number"}], "default": 20}),
    ("a header of narrower type", (*HEADERS, "ETag", "schema", "enum"), ["a"]),
    ("no credential needed any more", (*POST, "security"), []),
    ("a refusal more", (*POST, "responses", "404"), {}),
    ("a refusal less", (*POST, "responses", "409"), GONE),
    ("a header", (*ANSWER, "headers", "Age"), {"schema": {"type": "integer"}}),
    ("a longer id", (*ID, "maxLength"), 80),
    ("an optional field that is taken", (*TAKEN, "colour"), {"type": "string"}),
    ("a field that is given", (*GIVEN, "colour"), {"type": "string"}),
    ("a value that is taken", (*TAKEN, "kind", "enum"), ["cat", "dog", "fox"]),
    ("a value that is given no longer", (*GIVEN, "kind", "enum"), ["cat"]),
    ("any value that is taken", (*TAKEN, "kind", "enum"), GONE),
    ("a number where an integer was taken", (*TAKEN, "age", "type"), "number"),
    ("a type more that is taken", (*TAKEN, "owner"), ANY_OWNER),
    ("a type less that is given", (*GIVEN, "owner", "anyOf", 1), GONE),
    ("less needed", (*SCHEMAS, "PetCreate", "required"), []),
    ("more promised", (*SCHEMAS, "Pet", "required"), ["kind", "owner", "age"]),
    ("a bound less", (*TAKEN, "age", "minimum"), GONE),
    ("a bound of what is given", (*GIVEN, "chip", "maxLength"), 9),
    ("a description", (*GIVEN, "chip", "description"), "where it is"),
    ("the same union, written otherwise", (*GIVEN, "kind"), {"oneOf": [{"const": "dog"}, {"enum": ["cat"]}]}),
    ("an allOf of one", (*GIVEN, "chip"), {"allOf": [{"type": "string"}]}),
]


@pytest.mark.parametrize(("name", "place", "value"), ADDITIONS, ids=[name for name, _, _ in ADDITIONS])
def test_what_breaks_nobody_is_no_break(name: str, place: Place, value: Any) -> None:
    assert breaking_changes(CONTRACT, changed(place, value)) == []


def test_a_break_in_a_union_is_found_behind_the_nearest_alternative() -> None:
    """The complaint is about what differs, not about every alternative."""
    place = (*GIVEN, "owner", "anyOf", 0)
    new = changed(place, {"type": "object", "properties": {"name": {"type": "integer"}}, "required": ["name"]})
    assert breaking_changes(CONTRACT, new) == ["schema Pet (response).owner.name: integer may be returned now"]
