"""The generated client against contract/openapi.json: every operation has a blocking and an async call that match it."""

import asyncio
import inspect
import json
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import jsonschema_rs
import pytest

import gpuaas_sdk as sdk
from gpuaas_sdk.aio.transport import Transport as AwaitedTransport
from gpuaas_sdk.controller.app import AppController
from gpuaas_sdk.generated import models
from gpuaas_sdk.sync.transport import Transport

CONTRACT: dict[str, Any] = json.loads((Path(__file__).parents[2] / "contract" / "openapi.json").read_text())
SCHEMAS: dict[str, Any] = CONTRACT["components"]["schemas"]
# Spoken by the keeper of the token, by other programs' libraries (JWKS), by probes, by hosts with a pull secret, by browsers.
NOT_FOR_CLIENTS = {"artifact_pull", "auth_jwks", "auth_token", "auth_logout", "health", "ready", "metrics"} | {
    "auth_session_create",
    "auth_session_show",
    "auth_session_end",
}
NOW = datetime(2030, 1, 1, tzinfo=UTC)


class Sent(Exception):
    def __init__(self, request: Any) -> None:
        self.request = request


def operations() -> dict[str, tuple[str, str, dict[str, Any]]]:
    return {
        operation["operationId"]: (method.upper(), path, operation)
        for path, methods in CONTRACT["paths"].items()
        for method, operation in methods.items()
    }


CALLED = [name for name, (_, _, said) in operations().items() if "x-call" in said]


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> tuple[sdk.Client, sdk.AsyncClient]:
    """Clients whose calls are caught before they are sent."""

    def stop(transport: Transport, request: object) -> None:
        raise Sent(request)

    async def stop_awaited(transport: AwaitedTransport, request: object) -> None:
        raise Sent(request)

    for name in ("send", "download"):
        monkeypatch.setattr(Transport, name, stop)
    monkeypatch.setattr(AwaitedTransport, "send", stop_awaited)
    monkeypatch.setattr(AwaitedTransport, "download", stop)
    url = "http://127.0.0.1:1"
    return sdk.Client(url, token="t"), sdk.AsyncClient(url, token="t")


def sample(hint: Any) -> Any:
    """A value of that type."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return sample(next(one for one in inner if one is not type(None)))
    if origin in (list, Sequence) or (origin is not None and issubclass(origin, Sequence)):
        return [sample(inner[0])]
    if origin is not None and issubclass(origin, Mapping):
        return {}
    if origin is not None:  # bytes to send
        return lambda: iter([b"x"])
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        return hint(
            **{  # type: ignore[operator]
                one.name: sample(hints[one.name]) for one in fields(hint)
            }
        )
    return {str: "x", int: 1, bool: True, float: 1.0, datetime: NOW}[hint]


def arguments(method: Any, path: str) -> dict[str, Any]:
    """All arguments of the call; of several scopes, the one in the operation's path."""
    hints = get_type_hints(method)
    given = {}
    for name in inspect.signature(method).parameters:
        scope = f"{{{name}}}" not in path and hints[name] == str | None and name.endswith("_id")
        given[name] = None if scope and name in ("project_id", "tenant_id") else sample(hints[name])
    return given


def the_request(client: Any, call: str, path: str) -> Any:
    group, _, name = call.partition(".")
    method = getattr(getattr(client, group), name)
    with pytest.raises(Sent) as sent:
        asyncio.run(_asked(method, path))
    return sent.value.request


async def _asked(method: Any, path: str) -> None:
    asked = method(**arguments(method, path))
    if inspect.isawaitable(asked):
        await asked
    elif hasattr(asked, "__aiter__"):
        await asked.first(1)
    elif isinstance(asked, sdk.Pages):
        asked.first(1)


def test_every_operation_for_clients_has_a_call() -> None:
    offered = {name for name in operations() if not name.startswith("agent_")}
    assert offered - NOT_FOR_CLIENTS == set(CALLED)


@pytest.mark.parametrize("name", CALLED)
def test_the_call_matches_the_contract(clients: tuple[sdk.Client, sdk.AsyncClient], name: str) -> None:
    method, path, operation = operations()[name]
    for client in clients:
        request = the_request(client, operation["x-call"], path)
        assert request.method == method
        assert re.fullmatch(re.sub(r"\{[a-z_]+\}", "[^/]+", path), request.path)
        asked = {one["name"] for one in operation.get("parameters", []) if one["in"] == "query"}
        scoped = sum(one["x-call"] == operation["x-call"] for _, _, one in operations().values() if "x-call" in one) > 1
        assert scoped or set(request.parameters()) <= asked
        assert (request.body is None and request.content is None) == ("requestBody" not in operation)
        if request.body is not None:
            assert not list(complaints(operation, request.body))


def complaints(operation: dict[str, Any], body: object) -> Iterator[str]:
    """The differences between the body and its schema; the meaning of values is left to the server."""
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    whole = {**schema, "components": {"schemas": SCHEMAS}}
    for error in jsonschema_rs.Draft202012Validator(whole).iter_errors(json.loads(json.dumps(body))):
        if type(error.kind).__name__.removeprefix("ValidationErrorKind_") in (
            "Type",
            "Required",
            "AdditionalProperties",
        ):
            yield f"{error.instance_path}: {error.message}"


@pytest.mark.parametrize("name", models.__all__)
def test_a_model_has_the_fields_of_its_schema(name: str) -> None:
    model = getattr(sdk, name)
    schema = SCHEMAS.get(name) or SCHEMAS[f"{name.removeprefix('New')}Create"]
    assert {one.name for one in fields(model)} - {"raw"} == set(schema["properties"])


def test_secrets_of_an_answer_are_not_in_its_repr() -> None:
    shown = [
        models.NewServiceAccountKey(id="key_1", secret="hush"),
        models.EnrolmentTokenCreated(id="ent_1", bundle="hush"),
        models.UserWithPassword(id="usr_1", initial_password="hush"),
        models.LeaseRenewed(operation_id="op_1"),
        models.RegistryToken(token="hush"),
    ]
    assert "hush" not in repr(shown)


def test_every_kind_of_operation_has_a_handler_that_an_app_can_write() -> None:
    kinds = SCHEMAS["Operation"]["properties"]["kind"]["enum"]
    missing = [kind for kind in kinds if not hasattr(AppController, kind)]
    assert missing == [], "add a handler to AppController in sdk/gpuaas_sdk/controller/app.py"
