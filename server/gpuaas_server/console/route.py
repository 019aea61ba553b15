"""The route for all paths that are nobody else's. It is the last one, and leaves the API's paths to the API's refusals."""

from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import BaseRoute, Match
from starlette.types import Receive, Scope, Send

from gpuaas_server.console.files import read_console
from gpuaas_server.console.pages import answer
from gpuaas_server.kernel.settings import Settings

# Under these nothing is the console's, known or not.
OTHERS = ("/api", "/docs", "/.well-known", "/healthz", "/readyz", "/metrics")
METHODS = ("GET", "HEAD")
PACKAGED = Path(__file__).parent / "dist"
OF_THE_CHECKOUT = Path(__file__).parents[3] / "console" / "dist"


def console_folder(settings: Settings) -> Path:
    if settings.console_dir is not None:
        return settings.console_dir
    return PACKAGED if PACKAGED.is_dir() else OF_THE_CHECKOUT


class ConsoleRoute(BaseRoute):
    path = "/{console}"  # its name in the metrics: the console's own paths are as many as there are things

    def __init__(self, folder: Path) -> None:
        self._console = read_console(folder)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path = scope["path"]
        if scope["type"] != "http" or any(path == other or path.startswith(f"{other}/") for other in OTHERS):
            return Match.NONE, {}
        return (Match.FULL if scope["method"] in METHODS else Match.PARTIAL), {"route": self}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in METHODS:
            raise HTTPException(405)
        await answer(self._console, Request(scope, receive))(scope, receive, send)
