"""Runs code in a kernel of a notebook server, over its own API: a kernel is started, one request is sent, the kernel ends."""

import json
import time
import uuid
from typing import Any

import httpx
from websockets.sync.client import connect

from gpuaas_lab.errors import LabError

SECONDS = 90.0  # after which nobody waits any more
STARTED, ENDED = 201, 204


def execute_in_kernel(address: str, port: int, token: str, code: str) -> str:
    """Start a kernel, run the code in it and return its result as text."""
    headers = {"Authorization": f"token {token}"}
    with httpx.Client(base_url=f"http://{address}:{port}", headers=headers, timeout=SECONDS) as client:
        started = client.post("/api/kernels", json={"name": "python3"})
        if started.status_code != STARTED:
            raise LabError(f"no kernel was started: {started.status_code} {started.text[:200]}")
        kernel = started.json()["id"]
        try:
            channel = f"ws://{address}:{port}/api/kernels/{kernel}/channels"
            with connect(channel, additional_headers=headers, open_timeout=SECONDS) as connection:
                return _execute(connection, code)
        finally:
            ended = client.delete(f"/api/kernels/{kernel}")
            if ended.status_code != ENDED:
                raise LabError(f"the kernel did not end: {ended.status_code}")


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
    deadline = time.monotonic() + SECONDS
    while True:
        answer = json.loads(channel.recv(timeout=max(deadline - time.monotonic(), 0.1)))
        if answer["parent_header"].get("msg_id") != message:
            continue
        if answer["msg_type"] == "execute_result":
            return str(answer["content"]["data"]["text/plain"])
        if answer["msg_type"] == "error":
            raise LabError(f"the code failed: {answer['content']}")
