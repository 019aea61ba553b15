"""Hot paths that are answered right behind the edge, without router, dependencies and exception middleware.

A direct route is a second way to an endpoint whose documented route stays as it is, and it answers the same. What is unusual
about a request, such as another content type, is left to the documented route.
"""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.call import admit_call
from gpuaas_server.kernel.http.problems import ANSWERED_FAILURES, MALFORMED_JSON, answer_failure
from gpuaas_server.kernel.http.routers import API

_JSON = b"application/json"


@dataclass(frozen=True, slots=True)
class DirectRoute:
    """The direct route of an endpoint that reads its request itself."""

    method: str
    path: str
    endpoint: Callable[[Request], Awaitable[Response]]

    def takes(self, scope: Scope) -> bool:
        return bool(scope["path"] == self.path and scope["method"] == self.method)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self
        request = Request(scope, receive)
        try:
            response = await self.answer(request)
        except ANSWERED_FAILURES as failure:
            response = await answer_failure(request, failure)
        await response(scope, receive, send)

    async def answer(self, request: Request) -> Response:
        return await self.endpoint(request)


@dataclass(frozen=True, slots=True)
class DirectBodyRoute(DirectRoute):
    """The direct route of a POST: the endpoint gets the ids of the path, the `body`, and the admitted `call`.

    `path` is the documented route's, as metrics name it, below /api/v1; `ids` are the patterns of the ids in it. As in the
    documented route, JSON is read first, then the call is admitted, and then the body is validated.
    """

    endpoint: Callable[..., Awaitable[Response]]
    body: type[BaseModel]
    ids: dict[str, str] = field(default_factory=dict)
    _path: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        named = {name: f"(?P<{name}>{pattern})" for name, pattern in self.ids.items()}
        object.__setattr__(self, "_path", re.compile(API + self.path.format(**named)))

    def takes(self, scope: Scope) -> bool:
        return bool(
            scope["method"] == self.method
            and self._path.fullmatch(scope["path"])
            and not scope["query_string"]
            and _content_type(scope) == _JSON
        )

    async def answer(self, request: Request) -> Response:
        match = self._path.fullmatch(request.scope["path"])
        request.scope["path_params"] = match.groupdict() if match else {}
        document = _read_json(await request.body())
        call = await admit_call(request, self.endpoint.__name__)
        return await self.endpoint(**request.path_params, body=_validated(self.body, document), call=call)


def _content_type(scope: Scope) -> bytes:
    return next((value for name, value in scope["headers"] if name == b"content-type"), b"")


_NOTHING = object()


def _read_json(body: bytes) -> object:
    """Read with the parser that the documented routes use: another one would accept other numbers."""
    if not body:
        return _NOTHING
    try:
        return json.loads(body)
    except json.JSONDecodeError as error:
        raise Problem("malformed_body", MALFORMED_JSON) from error
    except (ValueError, RecursionError) as error:
        raise Problem("malformed_body") from error


def _validated(model: type[BaseModel], document: object) -> BaseModel:
    if document is _NOTHING:
        raise RequestValidationError([{"type": "missing", "loc": ("body",), "msg": "Field required"}])
    try:
        return model.model_validate(document, from_attributes=True)
    except ValidationError as error:
        faults: list[Any] = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors(include_url=False)]
        raise RequestValidationError(faults) from error
