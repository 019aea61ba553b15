"""A TCP proxy before a server that fails on demand: a connection breaks after so many bytes, or gets 503."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

PIECE = 1 << 16
NEVER = 1 << 62
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True)
class Fault:
    """What happens to one connection: broken after so many bytes to or from the server, or answered with 503.

    A broken connection discards what the client has not read yet, up to all that buffers hold. A `closed` one does not.
    """

    sent: int = NEVER
    received: int = NEVER
    busy: bool = False
    closed: bool = False


@dataclass
class FaultyProxy:
    """`faults` are used up, one for each connection; then the proxy is transparent. `carried` counts bytes of the server."""

    target: tuple[str, int]
    listener: socket.socket
    faults: list[Fault] = field(default_factory=list)
    carried: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                fault = self.faults.pop(0) if self.faults else Fault()
                threading.Thread(target=self._carry, args=(client, fault), daemon=True).start()

    def _carry(self, client: socket.socket, fault: Fault) -> None:
        if fault.busy:
            with client, suppress(OSError):
                client.recv(PIECE)
                client.sendall(BUSY)
            return
        server = socket.create_connection(self.target)
        back = threading.Thread(target=self._copy, args=(server, client, fault, True), daemon=True)
        back.start()
        self._copy(client, server, fault, False)
        back.join(60)
        for one in (client, server):
            one.close()

    def _copy(self, source: socket.socket, target: socket.socket, fault: Fault, back: bool) -> None:
        done, most = 0, fault.received if back else fault.sent
        with suppress(OSError):
            while piece := source.recv(PIECE):
                done += len(piece)
                if done > most:
                    break
                target.sendall(piece)
                self.carried += len(piece) if back else 0
            if done > most and not fault.closed:
                _reset(source, target)
            target.shutdown(socket.SHUT_WR)
            if done > most:
                source.shutdown(socket.SHUT_RD)


def _reset(*ends: socket.socket) -> None:
    for one in ends:
        with suppress(OSError):
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.shutdown(socket.SHUT_RDWR)


@contextmanager
def faulty_proxy(url: str) -> Iterator[FaultyProxy]:
    place = urlsplit(url)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        line = FaultyProxy((place.hostname or "", place.port or 0), listener)
        thread = threading.Thread(target=line.serve, daemon=True)
        thread.start()
        yield line
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(60)
