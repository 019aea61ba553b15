"""Servers from which the installer downloads: one that works, one that fails as told, and a platform over HTTPS."""

import base64
import hashlib
import io
import ssl
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from gpuaas_sdk.controller import PublishedArtifact


class Pull(PublishedArtifact):
    """The artifact of an operation whose pull secret is already there."""

    def __init__(self, document: dict[str, object]) -> None:
        self.document = document

    async def pull_document(self) -> dict[str, object]:
        return self.document


@contextmanager
def running_store() -> Iterator[dict[str, Any]]:
    """A platform that gives bytes to whoever shows the secret, and redirects /moved to another server's /bucket."""
    state: dict[str, Any] = {"seen": []}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown = self.headers.get("Authorization")
            state["seen"].append((self.path, shown))
            if self.path == "/moved":
                self.send_response(307)
                self.send_header("Location", f"{state['origin'].replace('127.0.0.1', 'localhost')}/bucket")
            else:
                known = self.path == "/bucket" or shown == f"Basic {base64.b64encode(b'rts:pw').decode()}"
                self.send_response(200 if known else 401)
            body = state.get("content", b"") if self.path != "/moved" else b""
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state["origin"] = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def artifact(store: dict[str, Any], content: bytes, digest: str | None = None, url: str = "/pull") -> Pull:
    store["content"] = content
    pull = {"origins": ["http://127.0.0.1:1", store["origin"]], "trust": [], "url": url, "username": "rts"}
    named = digest or f"sha256:{hashlib.sha256(content).hexdigest()}"
    return Pull({"digest": named, "pull": pull | {"password": "pw"}})


def archive(*entries: tuple[str, bytes | str], kind: bytes = tarfile.REGTYPE, mode: int = 0o755) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as file:
        for name, content in entries:
            info = tarfile.TarInfo(name)
            info.mode, info.type = mode, tarfile.SYMTYPE if isinstance(content, str) else kind
            info.linkname = content if isinstance(content, str) else ""
            info.size = len(content) if isinstance(content, bytes) and kind == tarfile.REGTYPE else 0
            file.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return buffer.getvalue()


@contextmanager
def failing_store(content: bytes, *faults: int) -> Iterator[tuple[str, list[int]]]:
    """A store that first answers with each fault: a status, or so many bytes before the connection breaks. Then it works.

    Returns its origin, and where each request wants to begin.
    """
    firsts: list[int] = []
    waiting = list(faults)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            fault = waiting.pop(0) if waiting else len(content)
            first = int(self.headers.get("Range", "bytes=0-")[6:-1])
            firsts.append(first)
            status = fault if fault in (503, 403) else 206 if first else 200
            self.send_response(status)
            self.send_header("Content-Length", str(0 if status == fault else len(content) - first))
            self.end_headers()
            if status != fault:
                self.wfile.write(content[first : first + fault])
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", firsts
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def pull_from(origin: str, content: bytes) -> Pull:
    pull = {"origins": [origin], "trust": [], "url": "/pull", "username": "rts", "password": "pw"}
    return Pull({"digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "pull": pull})


@contextmanager
def https_platform(folder: Path, redirect: str) -> Iterator[tuple[str, str]]:
    """A platform with a certificate of its own authority, which redirects every request. Returns its origin and authority."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(307)
            self.send_header("Location", redirect)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    name = ["-subj", "/CN=platform", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*words, *files, *name], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}", (folder / "certificate.pem").read_text()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
