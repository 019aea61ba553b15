"""The OpenAPI document: what FastAPI derives from the code, plus the problem document, the clients' names and the security."""

import re
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from gpuaas_server.calls import NAMED, call_of
from gpuaas_server.identity.service import COOKIE, RULES, Level
from gpuaas_server.kernel.http.problems import ProblemDocument
from gpuaas_server.kernel.operation_kinds import published_kinds

SECURITY_SCHEMES = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "An access token from POST /api/v1/auth/token.",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "A browser's session, from POST /api/v1/auth/session. Calls that may change something also need"
        " `X-CSRF-Token`. The cookie is ignored when there is an `Authorization` header.",
    },
    "agent": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "`GPUAAS-AGENT …`: the request signed with the node's key; see docs/reference/agent-protocol.md.",
    },
}


def describe(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, summary=None
        )
        components = document.setdefault("components", {})
        components["securitySchemes"] = SECURITY_SCHEMES
        schemas = components.setdefault("schemas", {})
        schemas["ProblemDocument"] = ProblemDocument.model_json_schema()
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        collections = {part for path in document["paths"] for part in path.split("/")}
        for methods in document["paths"].values():
            for operation in methods.values():
                operation["summary"] = _summary(operation.get("description", operation["summary"]))
                operation["security"] = _security(operation["operationId"])
                if operation["security"] == _PEOPLE_AND_PROGRAMS or operation["operationId"] in NAMED:
                    operation["x-call"] = call_of(operation["operationId"], collections)
                for parameter in operation.get("parameters", ()):
                    parameter["schema"] = _on_the_wire(parameter["schema"])
        document["x-operation-kinds"] = published_kinds()
        app.openapi_schema = document
    return app.openapi_schema


def _summary(description: str) -> str:
    """Return the first clause of the description: "List the allocations of the project, newest first"."""
    first = re.split(r"[.:;](?=\s|$)", description, maxsplit=1)[0]
    return " ".join(first.split())


LOCAL = ("metrics",)  # from the machine itself they need no token
BY_COOKIE: dict[str, list[dict[str, list[str]]]] = {
    "auth_session_show": [{"session": []}],
    "auth_session_end": [{}, {"session": []}],  # a caller without one is signed out already
}
_PEOPLE_AND_PROGRAMS: list[dict[str, list[str]]] = [{"bearer": []}, {"session": []}]


def _security(action: str) -> list[dict[str, list[str]]]:
    level = RULES[action].level
    if level is Level.PUBLIC:
        return BY_COOKIE.get(action, [])
    if action in LOCAL:
        return [{}, *_PEOPLE_AND_PROGRAMS]
    return [{"agent": []}] if level is Level.AGENT else _PEOPLE_AND_PROGRAMS


def _on_the_wire(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop null from a header or query parameter: it may be absent, but there is no null to send in its place."""
    choices: list[dict[str, Any]] = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) != 1:
        return schema
    return {name: value for name, value in schema.items() if name != "anyOf"} | choices[0]
