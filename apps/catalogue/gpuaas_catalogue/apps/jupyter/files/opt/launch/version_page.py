"""An extension of the server: /launch/version is JupyterLab's version, without a login. The page /api has the server's own."""

from typing import Any

from jupyterlab import __version__
from tornado.web import RequestHandler


class VersionPage(RequestHandler):
    def get(self) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{__version__}\n")


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": "version_page"}]


def _load_jupyter_server_extension(server: Any) -> None:
    server.web_app.add_handlers(".*$", [(r"/launch/version", VersionPage)])
