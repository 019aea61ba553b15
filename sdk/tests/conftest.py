"""A small HTTP server that follows the platform's conventions and gives scripted answers."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from sdk_support.artifact_stores import running_store
from sdk_support.local_installer import LocalInstaller
from sdk_support.notes_app import MANIFEST, Begin, decommission

from gpuaas_sdk import Operation
from gpuaas_sdk.testing import CatalogApp, RunningServer, Sandbox


@dataclass
class Received:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Answer:
    status: int = 200
    body: object = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    hang_up: bool = False

    def payload(self) -> bytes:
        return self.raw if self.raw is not None else json.dumps(self.body).encode()


def problem(code: str, status: int, retryable: bool = False, retry_after: str | None = None, **more: object) -> Answer:
    document = {
        "type": f"urn:gpuaas:error:{code}",
        "title": code,
        "status": status,
        "detail": f"This is {code}.",
        "code": code,
        "correlation_id": "c0ffee00c0ffee00",
        "retryable": retryable,
        "next_step": "Do something else.",
        "details": more,
    }
    headers = {"Content-Type": "application/problem+json"}
    if retry_after is not None:
        headers["Retry-After"] = retry_after
    return Answer(status, document, headers)


class ScriptedServer:
    """Answers in the order of the script; the last answer repeats. `received` has the requests."""

    def __init__(self) -> None:
        self.script: list[Answer] = []
        self.received: list[Received] = []
        self.decide: Callable[[Received], Answer] | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answers(self, *answers: Answer) -> None:
        self.script = list(answers)

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def next_answer(self, received: Received) -> Answer:
        self.received.append(received)
        if self.decide is not None:
            return self.decide(received)
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        script = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

            def _serve(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length)
                headers = {name.lower(): value for name, value in self.headers.items()}
                answer = script.next_answer(Received(self.command, self.path, headers, body))
                if answer.hang_up:
                    self.close_connection = True
                    return
                payload = answer.payload()
                self.send_response(answer.status)
                for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                if "text/event-stream" not in answer.headers.get("Content-Type", ""):
                    self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                with suppress(BrokenPipeError, ConnectionResetError):  # a watcher may disconnect at any time
                    self.wfile.write(payload)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815

        return Handler


@pytest.fixture(scope="module")
def fleet(server: RunningServer) -> Iterator[Sandbox]:
    """A tenant and project for one file of tests, on the real server of the run, with one host."""
    sandbox = Sandbox.create(server)
    sandbox.offer()
    with sandbox.simulated_fleet(1):
        yield sandbox


@pytest.fixture(scope="module")
def catalog_app(fleet: Sandbox) -> CatalogApp:
    """The app of `notes_app.py`, published in the project of the test file."""
    catalog_app = CatalogApp(fleet, f"notes-{fleet.project_id[-6:].lower()}")
    catalog_app.publish(MANIFEST.replace("{slug}", catalog_app.slug), b"what the controller is made of")
    return catalog_app


@pytest.fixture(scope="module")
def places(catalog_app: CatalogApp) -> list[str]:
    return catalog_app.allocate(2)


@pytest.fixture
def begin(catalog_app: CatalogApp, places: list[str]) -> Iterator[Begin]:
    """Deploys an instance. At the end the instance is decommissioned, so that its allocation is free for the next test."""
    made: list[str] = []

    def deploy() -> tuple[str, Operation]:
        instance, operation = catalog_app.deploy(f"n{len(made)}", [("head", places[0])])
        made.append(instance)
        return instance, operation

    yield deploy
    for instance in made:
        decommission(catalog_app, instance)


@pytest.fixture
def platform() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    yield server
    server.stop()


@pytest.fixture
def problem_answer() -> Callable[..., Answer]:
    return problem


@pytest.fixture
def answer() -> type[Answer]:
    return Answer


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    return tmp_path / "etc"


@pytest.fixture
def here(tmp_path: Path) -> LocalInstaller:
    return LocalInstaller(tmp_path / "records")


@pytest.fixture
def store() -> Iterator[dict[str, Any]]:
    with running_store() as state:
        yield state
