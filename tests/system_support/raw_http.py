"""HTTP by hand over a socket, plain or TLS: for what no well-behaved client would send."""

import json
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

HANG_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        """The stable code of a problem document."""
        assert self.headers["content-type"] == "application/problem+json", self
        problem = json.loads(self.body)
        assert problem["correlation_id"] == self.headers["x-correlation-id"]
        assert problem["next_step"]
        return str(problem["code"])


@dataclass(frozen=True, slots=True)
class Place:
    """A listener of a server."""

    port: int
    tls: bool = False

    @contextmanager
    def connect(self, source: str = "", preamble: bytes = b"") -> Iterator[socket.socket]:
        """A connection from the source address; the preamble goes before TLS, as a balancer's PROXY header does."""
        plain = socket.create_connection(("127.0.0.1", self.port), HANG_SECONDS, (source, 0) if source else None)
        plain.sendall(preamble)
        with _tls(plain) if self.tls else plain as connection:
            yield connection


def _tls(plain: socket.socket) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without CAs, which take long to load
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(plain)


def read_answer(connection: socket.socket) -> Answer:
    """One answer with a Content-Length, as all short ones have. What comes behind it is left for the next reading."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += _read(connection, 1)
    status, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return Answer(int(status.split(" ")[1]), headers, _read(connection, int(headers.get("content-length", "0"))))


def _read(connection: socket.socket, count: int) -> bytes:
    received = b""
    while len(received) < count:
        more = connection.recv(count - len(received))
        if not more:
            raise ConnectionError("closed without a whole answer")
        received += more
    return received


def is_closed(connection: socket.socket) -> bool:
    """Wait for the end of the connection: True when it comes, an error when it does not."""
    try:
        while connection.recv(65_536):
            pass
    except (ConnectionError, ssl.SSLError):
        return True
    return True


def send_until_refused(connection: socket.socket, chunk: bytes, count: int) -> int:
    """How many of the chunks went out before the other side had enough."""
    for sent in range(count):
        try:
            connection.sendall(chunk)
        except (ConnectionError, ssl.SSLError):
            return sent
    return count


def drip(connection: socket.socket, data: bytes, pause: float) -> bool:
    """A byte at a time; whether all of it was taken."""
    for byte in data:
        try:
            connection.sendall(bytes([byte]))
        except (ConnectionError, ssl.SSLError):
            return False
        time.sleep(pause)
    return True


def request(path: str = "/readyz", method: str = "GET", body: bytes = b"", **headers: str) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body
