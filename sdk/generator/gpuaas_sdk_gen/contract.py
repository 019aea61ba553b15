"""The contract as the generator sees it: operations with a call's name, and how they are told apart by their scope."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Schema = Mapping[str, Any]
JSON, BYTES = "application/json", "application/octet-stream"
METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, kw_only=True)
class Operation:
    """`call` is "group.method"; `body` the name of the schema that is sent, `answer` of the one that comes."""

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
        """A list that ends. What can be waited for has no end: it is asked for page by page."""
        return "after" in self.query and "wait" not in self.query


@dataclass(frozen=True, kw_only=True)
class Call:
    """One method: an operation, or several that differ by the scope in their path."""

    name: str
    operations: tuple[Operation, ...]

    @property
    def first(self) -> Operation:
        return self.operations[0]

    @property
    def scopes(self) -> tuple[str, ...]:
        """Names that are in the path of some of the operations only."""
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


def _operation(method: str, path: str, said: Schema) -> Operation:
    parameters = said.get("parameters", [])
    sent = said.get("requestBody", {}).get("content", {})
    came: Schema = next(one.get("content", {}) for status, one in sorted(said["responses"].items()) if status < "3")
    return Operation(
        id=said["operationId"],
        call=said["x-call"],
        method=method.upper(),
        path=path,
        description=said.get("description", ""),
        query={one["name"]: one["schema"] for one in parameters if one["in"] == "query"},
        path_names=tuple(part[1:-1] for part in path.split("/") if part.startswith("{")),
        body=_named(sent.get(JSON)),
        sends_bytes=BYTES in sent,
        answer=_named(came.get(JSON)),
        answers_bytes=BYTES in came,
        matches_generation=any(one["name"] == "If-Match" for one in parameters),
    )


def _named(content: Schema | None) -> str | None:
    return None if content is None else reference(content["schema"])


def reference(schema: Schema) -> str | None:
    """The name of the schema that this one points to."""
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    return name or None
