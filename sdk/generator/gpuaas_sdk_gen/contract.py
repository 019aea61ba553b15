"""The contract as the generator reads it: operations by the name of their call, and by the scope in their path."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Schema = Mapping[str, Any]
JSON, BYTES = "application/json", "application/octet-stream"
STREAMED = frozenset({BYTES, "application/x-ndjson"})
METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, kw_only=True)
class Operation:
    """`call` is "group.method"; `body` and `answer` are the names of the request and response schemas."""

    id: str
    call: str
    method: str
    path: str
    description: str
    query: Mapping[str, Schema]
    path_names: tuple[str, ...]
    body: str | None = None
    sends_bytes: bool = False
    answer: str | None = None
    answers_bytes: bool = False
    matches_generation: bool = False

    @property
    def paged(self) -> bool:
        """Tell whether the answer is a list that ends. A list with `wait` has no end, so callers read it page by page."""
        return "after" in self.query and "wait" not in self.query


@dataclass(frozen=True, kw_only=True)
class Call:
    """One method: an operation, or several that differ only in the scope in their path."""

    name: str
    operations: tuple[Operation, ...]

    @property
    def first(self) -> Operation:
        return self.operations[0]

    @property
    def scopes(self) -> tuple[str, ...]:
        """Path parameters that only some of the operations have."""
        shared = set.intersection(*(set(one.path_names) for one in self.operations))
        return tuple(dict.fromkeys(name for one in self.operations for name in one.path_names if name not in shared))


@dataclass(frozen=True)
class Contract:
    document: Schema
    schemas: Mapping[str, Schema] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "schemas", self.document["components"]["schemas"])

    def groups(self) -> dict[str, list[Call]]:
        together: dict[str, list[Operation]] = {}
        for operation in sorted(self._operations(), key=lambda one: (one.call, -len(one.path_names), one.path)):
            together.setdefault(operation.call, []).append(operation)
        groups: dict[str, list[Call]] = {}
        for call, operations in together.items():
            group, _, name = call.partition(".")
            groups.setdefault(group, []).append(Call(name=name, operations=tuple(operations)))
        return groups

    def _operations(self) -> Iterator[Operation]:
        for path, methods in self.document["paths"].items():
            for method in METHODS:
                if "x-call" in methods.get(method, {}):
                    yield _operation(method, path, methods[method])


def _operation(method: str, path: str, document: Schema) -> Operation:
    parameters = document.get("parameters", [])
    request = document.get("requestBody", {}).get("content", {})
    response: Schema = next(
        one.get("content", {}) for status, one in sorted(document["responses"].items()) if status < "3"
    )
    return Operation(
        id=document["operationId"],
        call=document["x-call"],
        method=method.upper(),
        path=path,
        description=document.get("description", ""),
        query={one["name"]: one["schema"] for one in parameters if one["in"] == "query"},
        path_names=tuple(part[1:-1] for part in path.split("/") if part.startswith("{")),
        body=_named(request.get(JSON)),
        sends_bytes=BYTES in request,
        answer=_named(response.get(JSON)),
        answers_bytes=not STREAMED.isdisjoint(response),
        matches_generation=any(one["name"] == "If-Match" for one in parameters),
    )


def _named(content: Schema | None) -> str | None:
    return None if content is None else reference(content["schema"])


def reference(schema: Schema) -> str | None:
    """The name of the schema that this one refers to."""
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return name or None
