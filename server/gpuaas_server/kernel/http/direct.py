"""A hot path that is answered right behind the edge, without router, dependencies and exception middleware."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.problems import answer_away, answer_problem, away


@dataclass(frozen=True, slots=True)
class DirectRoute:
    method: str
    path: str
    endpoint: Callable[[Request], Awaitable[Response]]

    def takes(self, scope: Scope) -> bool:
        return bool(scope["path"] == self.path and scope["method"] == self.method)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["route"] = self
        request = Request(scope, receive)
        try:
            response = await self.endpoint(request)
        except Problem as problem:
            response = await answer_problem(request, problem)
        except away as error:
            response = answer_away(request, error)
        await response(scope, receive, send)
