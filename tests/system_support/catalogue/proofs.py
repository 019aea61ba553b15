"""What a user does with an app of the catalogue. Each function takes its endpoint, and fails if the app does not work."""

import json
import time
import uuid
from dataclasses import dataclass
from typing import Any

import httpx
from websockets.sync.client import connect

HANG = 90.0  # seconds, after which nobody waits any more


@dataclass(frozen=True)
class Endpoint:
    address: str
    port: int
    token: str = ""

    @property
    def url(self) -> str:
        return f"http://{self.address}:{self.port}"

    def get(self, path: str, token: str | None = None) -> httpx.Response:
        secret = self.token if token is None else token
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        return httpx.get(f"{self.url}{path}", headers=headers, timeout=HANG)


def wait_until_ready(endpoint: Endpoint, path: str, expected: int = 200) -> None:
    """Wait as the readiness probe of a manifest does."""
    deadline = time.monotonic() + HANG
    while True:
        try:
            status = httpx.get(f"{endpoint.url}{path}", timeout=3.0).status_code
        except httpx.TransportError as error:
            status = str(error)
        if status == expected:
            return
        assert time.monotonic() < deadline, f"{endpoint.url}{path} answers {status}"
        time.sleep(0.1)


def execute_in_kernel(endpoint: Endpoint, code: str) -> str:
    """Start a kernel of a notebook server, run the code in it and return its result as text."""
    headers = {"Authorization": f"token {endpoint.token}"}
    with httpx.Client(base_url=endpoint.url, headers=headers, timeout=HANG) as client:
        started = client.post("/api/kernels", json={"name": "python3"})
        assert started.status_code == 201, started.text
        kernel = started.json()["id"]
        try:
            address = f"ws://{endpoint.address}:{endpoint.port}/api/kernels/{kernel}/channels"
            with connect(address, additional_headers=headers, open_timeout=HANG) as channel:
                return _execute(channel, code)
        finally:
            assert client.delete(f"/api/kernels/{kernel}").status_code == 204


def _execute(channel: Any, code: str) -> str:
    message = uuid.uuid4().hex
    header = {
        "msg_id": message,
        "msg_type": "execute_request",
        "username": "",
        "session": uuid.uuid4().hex,
        "version": "5.3",
    }
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
    asked = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"}
    channel.send(json.dumps(asked))
    deadline = time.monotonic() + HANG
    while True:
        answer = json.loads(channel.recv(timeout=max(deadline - time.monotonic(), 0.1)))
        if answer["parent_header"].get("msg_id") != message:
            continue
        if answer["msg_type"] == "execute_result":
            return str(answer["content"]["data"]["text/plain"])
        assert answer["msg_type"] != "error", answer["content"]
