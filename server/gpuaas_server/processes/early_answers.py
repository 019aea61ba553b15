"""Answers for an api before it can serve: that it lives, and what it is waiting for."""

from uuid import uuid4

from starlette.types import ASGIApp, Receive, Scope, Send

from gpuaas_server import __version__
from gpuaas_server.kernel.database_health import DatabaseHealth
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.problems import problem_response

_ALIVE = f'{{"status":"ok","version":"{__version__}"}}'.encode()
_STARTING = "The process is starting."


class EarlyAnswers:
    """Stands in front of the application from the moment when the port is taken; hands over when there is one."""

    def __init__(self) -> None:
        self.app: ASGIApp | None = None
        self._health: DatabaseHealth | None = None
        self._cause = _STARTING

    def watch(self, health: DatabaseHealth) -> None:
        self._health = health

    def say(self, cause: str) -> None:
        """Set what to answer until the database's own health has something to say."""
        self._cause = cause

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.app is not None:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1013})  # try again later
        elif scope["type"] == "http" and scope["path"] == "/healthz":
            await _send_json(send, 200, _ALIVE)
        elif scope["type"] == "http":
            cause = self._health.cause if self._health is not None else ""
            problem = Problem("unavailable", cause or self._cause, headers={"Retry-After": "1"})
            await problem_response(problem, uuid4().hex)(scope, receive, send)


async def _send_json(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
