"""The stream of a terminal in an allocation: bytes both ways, the window size, and the reason for the end.

with TerminalStream(client, client.terminals.open(project_id, allocation_id)) as stream:
    stream.send(b"nvidia-smi\\n")
    for data in stream: ...
    stream.end.reason

One thread may read while another sends. It is separate from the client because few programs need it (extra `terminal`).
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType

import httpx
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.sync.client import connect

from gpuaas_sdk.errors import Problem, Unreachable, error_from
from gpuaas_sdk.generated.models import Terminal
from gpuaas_sdk.sync.client import Client
from gpuaas_sdk.wire import tls_context

OPEN_SECONDS = 10.0
PING_SECONDS = 180.0  # the pong waits behind all output that a slow reader has not read yet
MAX_MESSAGE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class TerminalEnd:
    """`reason` is for programs, `message` for people. `exit_status` is set when the shell ended by itself."""

    reason: str
    message: str
    exit_status: int | None = None


CLOSED = TerminalEnd("closed", "The terminal was closed.")
CONNECTION_LOST = TerminalEnd("interrupted", "The connection to the platform was lost.")


class TerminalStream:
    def __init__(self, client: Client, terminal: Terminal) -> None:
        self.end: TerminalEnd | None = None
        self._closed = False
        self._stack = ExitStack()
        target = client.websocket_target(terminal)
        context = tls_context(target.ca_file, target.certificate) if target.url.startswith("wss:") else None
        try:
            connection = connect(
                target.url,
                ssl=context,
                additional_headers=dict(target.headers),
                open_timeout=OPEN_SECONDS,
                ping_timeout=PING_SECONDS,
                max_size=MAX_MESSAGE_BYTES,
                compression=None,
                proxy=None,
            )
            self._socket = self._stack.enter_context(connection)
        except InvalidStatus as refused:
            response = refused.response
            raise error_from(httpx.Response(response.status_code, content=bytes(response.body or b""))) from refused
        except (OSError, WebSocketException) as error:
            detail = f"The terminal stream cannot be opened: {error}."
            next_step = "Check that the server is running, then open a terminal again."
            problem = Problem(code="unreachable", status=0, detail=detail, next_step=next_step, retryable=True)
            raise Unreachable(problem) from error

    def __iter__(self) -> Iterator[bytes]:
        """Yields the output until the end."""
        while (data := self.receive()) is not None:
            yield data

    def receive(self, timeout: float | None = None) -> bytes | None:
        """Returns the next output, or None at the end, which `end` then explains. Raises TimeoutError."""
        while self.end is None:
            try:
                message = self._socket.recv(timeout)
            except ConnectionClosed:
                self.end = CLOSED if self._closed else CONNECTION_LOST
                return None
            if isinstance(message, bytes):
                return message
            control = json.loads(message)
            if control.get("type") == "ended":
                self.end = TerminalEnd(control["reason"], control["message"], control.get("exit_status"))
        return None

    def send(self, data: bytes) -> None:
        """Sends input. After the end it is dropped."""
        self._send(data)

    def resize(self, columns: int, rows: int) -> None:
        self._send(json.dumps({"type": "resize", "columns": columns, "rows": rows}))

    def _send(self, message: bytes | str) -> None:
        try:
            self._socket.send(message)
        except ConnectionClosed:
            return  # the next receive reports the end

    def close(self) -> None:
        """Closes the stream. A concurrent receive then returns None, and `end` says that it was closed here."""
        self._closed = True
        self._stack.close()

    def __enter__(self) -> "TerminalStream":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
