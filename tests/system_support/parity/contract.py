"""The public operations, as contract/openapi.json has them."""

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from system_support.documents import REPOSITORY

METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class PublicOperation:
    name: str
    method: str
    path: str
    group: str
    call: str | None  # what clients call it; none where no person calls it

    @property
    def shape(self) -> tuple[str, str]:
        return self.method, shape_of(self.path)


def shape_of(path: str) -> str:
    """The path without the names of its parameters, which nobody has to share."""
    return re.sub(r"\$?\{[^}]*\}", "{}", path.partition("?")[0])


def verbs_of_instances() -> list[str]:
    """The kinds of operation on whole instances that need nothing but their kind; clients offer them by one template."""
    kinds = _document()["x-operation-kinds"]
    return [kind["name"] for kind in kinds if kind["target"] == "instance" and not kind["has_own_endpoint"]]


def operations() -> list[PublicOperation]:
    document = _document()
    return [
        PublicOperation(
            shown["operationId"], method.upper(), path, _group(path, shown.get("x-call")), shown.get("x-call")
        )
        for path, methods in document["paths"].items()
        for method, shown in methods.items()
        if method in METHODS
    ]


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((REPOSITORY / "contract/openapi.json").read_text())
    return document


def _group(path: str, call: str | None) -> str:
    """By what clients call it; else by where it is."""
    return call.partition(".")[0] if call else path.removeprefix("/api/v1").split("/")[1]
