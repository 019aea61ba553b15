"""A terminal as a person has it: type, look until something shows, and see how it ends."""

import secrets
import time
from dataclasses import dataclass, field

from gpuaas_sdk import Client, Terminal
from gpuaas_sdk.terminal import TerminalEnd, TerminalStream

SECONDS = 60.0  # a guard against hanging


@dataclass
class Screen:
    stream: TerminalStream
    terminal: Terminal
    shown: bytes = b""
    _read: int = field(default=0)

    @classmethod
    def open(cls, client: Client, project_id: str, allocation_id: str, columns: int = 80, rows: int = 24) -> "Screen":
        terminal = client.terminals.open(project_id, allocation_id, columns=columns, rows=rows)
        screen = cls(TerminalStream(client, terminal), terminal)
        screen.look_for(b"$ ")
        return screen

    def look_for(self, wanted: bytes, seconds: float = SECONDS) -> bytes:
        """What was shown since the last look, up to and with what is wanted."""
        deadline = time.monotonic() + seconds
        while (at := self.shown.find(wanted, self._read)) < 0:
            left = deadline - time.monotonic()
            assert left > 0, (wanted, self.shown[self._read :][-500:])
            try:
                data = self.stream.receive(left)
            except TimeoutError:
                continue
            assert data is not None, (wanted, self.stream.end, self.shown[self._read :][-500:])
            self.shown += data
        found, self._read = self.shown[self._read : at + len(wanted)], at + len(wanted)
        return found

    def run(self, command: str) -> str:
        """The output of one command, between two marks of ours."""
        mark = secrets.token_hex(4)
        self.stream.send(f"printf '%s-%s\\n' {mark} begin; {command}; printf '%s-%s\\n' {mark} end\n".encode())
        self.look_for(f"{mark}-begin\r\n".encode())
        return self.look_for(f"{mark}-end\r\n".encode()).decode().rpartition(mark)[0].replace("\r\n", "\n").strip()

    def ends(self, seconds: float = SECONDS) -> TerminalEnd:
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            assert left > 0, "it does not end"
            try:
                if self.stream.receive(left) is None:
                    assert self.stream.end is not None
                    return self.stream.end
            except TimeoutError:
                continue

    def __enter__(self) -> "Screen":
        return self

    def __exit__(self, *_: object) -> None:
        self.stream.close()
