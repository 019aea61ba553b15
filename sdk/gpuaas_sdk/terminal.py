"""The stream of a terminal in an allocation: bytes both ways, a window size, and why it ended.

with TerminalStream(client, client.terminals.open(project_id, allocation_id)) as stream:
    stream.send(b"nvidia-smi\\n")
    for data in stream: ...
    stream.end.reason

One thread may read while another sends. Kept apart from the client: only programs with a screen need it (extra `terminal`).
"""

import json
import ssl
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

OPEN_SECONDS = 10.0
PING_SECONDS = 180.0  # an answer waits behind all output that a slow reader has not taken yet
LONGEST_MESSAGE = 1 << 20


@dataclass(frozen=True, slots=True)
class TerminalEnd:
    """`reason` for programs, `sentence` for people; `exit_status` when the shell ended by itself."""

    reason: str
    sentence: str
    exit_status: int | None = None


HUNG_UP = TerminalEnd("closed", "The terminal was closed.")
LOST = TerminalEnd("interrupted", "The connection to the platform was lost.")


class TerminalStream:
    def __init__(self, client: Client, terminal: Terminal) -> None:
        self.end: TerminalEnd | None = None
        self._left = False
        self._held = ExitStack()
        doorway = client.doorway(terminal)
        context = ssl.create_default_context(cafile=doorway.ca_file) if doorway.url.startswith("wss:") else None
        try:
            connection = connect(
                doorway.url,
                ssl=context,
                additional_headers=dict(doorway.headers),
                open_timeout=OPEN_SECONDS,
                ping_timeout=PING_SECONDS,
                max_size=LONGEST_MESSAGE,
                compression=None,
                proxy=None,
            )
            self._socket = self._held.enter_context(connection)
        except InvalidStatus as refused:
            said = refused.response
            raise error_from(httpx.Response(said.status_code, content=bytes(said.body or b""))) from refused
        except (OSError, WebSocketException) as error:
            detail = f"The stream of the terminal cannot be opened: {error}."
            next_step = "Check that the server runs, then open a terminal again."
            problem = Problem(code="unreachable", status=0, detail=detail, next_step=next_step, retryable=True)
            raise Unreachable(problem) from error

    def __iter__(self) -> Iterator[bytes]:
        """What is shown, until the end."""
        while (data := self.receive()) is not None:
            yield data

    def receive(self, timeout: float | None = None) -> bytes | None:
        """The next that is shown; None at the end, which `end` then explains. TimeoutError when nothing came in time."""
        while self.end is None:
            try:
                message = self._socket.recv(timeout)
            except ConnectionClosed:
                self.end = HUNG_UP if self._left else LOST
                return None
            if isinstance(message, bytes):
                return message
            said = json.loads(message)
            if said.get("type") == "ended":
                self.end = TerminalEnd(said["reason"], said["sentence"], said.get("exit_status"))
        return None

    def send(self, data: bytes) -> None:
        """What is typed. After the end it goes nowhere."""
        self._send(data)

    def resize(self, columns: int, rows: int) -> None:
        self._send(json.dumps({"type": "resize", "columns": columns, "rows": rows}))

    def _send(self, message: bytes | str) -> None:
        try:
            self._socket.send(message)
        except ConnectionClosed:
            return  # whoever receives hears of it

    def close(self) -> None:
        """Hangs up. Whoever receives meanwhile hears that it was we."""
        self._left = True
        self._held.close()

    def __enter__(self) -> "TerminalStream":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
