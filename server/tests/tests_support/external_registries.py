"""Registries that are not the platform's own: a real docker-registry with a password, and a small one that misbehaves."""

import base64
import hashlib
import json
import os
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from tests_support.authorities import ServerFiles
from tests_support.parts import part

USER, PASSWORD = "puller", "pull-only-Example7"
# The bcrypt hash of the password, as `htpasswd -B` writes it.
_USERS = f"{USER}:$2y$05$abcdefghijklmnopqrstuu.IZUK9J/cR4O.OymZl9xohL8c8vCtsq\n"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
START_SECONDS = 180.0


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def described(media_type: str, content: bytes) -> dict[str, object]:
    return {"mediaType": media_type, "size": len(content), "digest": digest_of(content)}


@dataclass(frozen=True)
class SmallImage:
    blobs: tuple[bytes, ...]
    manifest: bytes

    @property
    def digest(self) -> str:
        return digest_of(self.manifest)


def small_image(layer_bytes: int = 20_000) -> SmallImage:
    layer = os.urandom(layer_bytes)
    rootfs = {"type": "layers", "diff_ids": [digest_of(layer)]}
    config = json.dumps({"architecture": "amd64", "os": "linux", "rootfs": rootfs}).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": described("application/vnd.oci.image.config.v1+json", config),
        "layers": [described("application/vnd.oci.image.layer.v1.tar", layer)],
    }
    return SmallImage((config, layer), json.dumps(manifest).encode())


@dataclass
class PasswordRegistry:
    """A docker-registry that asks for a user name and a password (Basic), with TLS where it has files for that."""

    address: str
    folder: Path
    tls: ServerFiles | None = None
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"{'http' if self.tls is None else 'https'}://{self.address}"

    @property
    def trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=None if self.tls is None else self.tls.ca_file)

    def push(self, repository: str, blobs: Sequence[bytes], manifest: bytes, tag: str = "1") -> str:
        """Push an image, or a signature beside one; return its reference by digest."""
        kind = json.loads(manifest)["mediaType"]
        with httpx.Client(
            base_url=self.url, auth=(USER, PASSWORD), timeout=60, verify=self.trusted, trust_env=False
        ) as client:
            for blob in blobs:
                place = client.post(f"/v2/{repository}/blobs/uploads/").raise_for_status().headers["Location"]
                query = {**httpx.URL(place).params, "digest": digest_of(blob)}
                client.put(place, params=query, content=blob).raise_for_status()
            path = f"/v2/{repository}/manifests/{tag}"
            client.put(path, content=manifest, headers={"Content-Type": kind}).raise_for_status()
        return f"{self.address}/{repository}@{digest_of(manifest)}"

    def has(self, repository: str, digest: str) -> bool:
        path, headers = f"{self.url}/v2/{repository}/manifests/{digest}", {"Accept": MANIFEST_TYPE}
        return httpx.get(
            path, auth=(USER, PASSWORD), headers=headers, timeout=60, verify=self.trusted, trust_env=False
        ).is_success

    def start(self) -> None:
        self.process = subprocess.Popen(
            [part("docker-registry"), "serve", str(self.folder / "settings.json")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            assert self.process.poll() is None, "the registry ended"
            assert time.monotonic() < deadline, "the registry did not start"
            time.sleep(0.05)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(15)
            self.process = None

    def _answers(self) -> bool:
        with suppress(httpx.TransportError):
            asked = httpx.get(f"{self.url}/v2/", timeout=5, verify=self.trusted, trust_env=False)
            return asked.status_code == 401
        return False


@contextmanager
def password_registry(address: str, folder: Path, tls: ServerFiles | None = None) -> Iterator[PasswordRegistry]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "users").write_text(_USERS)
    files = {} if tls is None else {"tls": {"certificate": str(tls.certificate), "key": str(tls.key)}}
    settings = {
        "version": 0.1,
        "log": {"level": "error"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "data")}},
        "http": {"addr": address, **files},
        "auth": {"htpasswd": {"realm": "external", "path": str(folder / "users")}},
    }
    (folder / "settings.json").write_text(json.dumps(settings))
    made = PasswordRegistry(address, folder, tls)
    made.start()
    try:
        yield made
    finally:
        made.stop()


@dataclass
class FaultyRegistry:
    """Serves what it is told to, as badly as it is told to. `seen` has the path and the Authorization of each request."""

    address: str = ""
    content: dict[str, tuple[str, bytes]] = field(default_factory=dict)  # by path
    replies: dict[str, Callable[[BaseHTTPRequestHandler], None]] = field(
        default_factory=dict
    )  # by path, before content
    challenge: str = ""  # without an Authorization, this is the answer
    break_off: bool = False  # large answers end in the middle
    seen: list[tuple[str, str | None]] = field(default_factory=list)

    def hold(self, repository: str, image: SmallImage) -> str:
        """Serve the image and return its reference."""
        self.content[f"/v2/{repository}/manifests/{image.digest}"] = (MANIFEST_TYPE, image.manifest)
        for blob in image.blobs:
            self.content[f"/v2/{repository}/blobs/{digest_of(blob)}"] = ("application/octet-stream", blob)
        return f"{self.address}/{repository}@{image.digest}"

    def credentials_seen(self, path: str) -> list[str | None]:
        return [shown for at, shown in self.seen if at == path]


def redirect(target: str) -> Callable[[BaseHTTPRequestHandler], None]:
    def reply(request: BaseHTTPRequestHandler) -> None:
        request.send_response(307)
        request.send_header("Location", target)
        request.send_header("Content-Length", "0")
        request.end_headers()

    return reply


def answer(status: int, content: bytes = b"", media_type: str = "application/json") -> Callable[..., None]:
    def reply(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        request.send_header("Content-Type", media_type)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)

    return reply


def basic(user: str = USER, password: str = PASSWORD) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@contextmanager
def faulty_registry(host: str = "127.0.0.1", port: int = 0, tls: ServerFiles | None = None) -> Iterator[FaultyRegistry]:
    registry = FaultyRegistry()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            shown, path = self.headers.get("Authorization"), self.path.partition("?")[0]
            registry.seen.append((path, shown))
            if path in registry.replies:
                registry.replies[path](self)
            elif registry.challenge and shown is None:
                self.send_response(401)
                self.send_header("WWW-Authenticate", registry.challenge)
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif path == "/v2/" or path not in registry.content:
                answer(200 if path == "/v2/" else 404)(self)
            else:
                self._serve(*registry.content[path])

        def do_HEAD(self) -> None:
            self.do_GET()

        def _serve(self, media_type: str, content: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command == "HEAD":
                return
            if registry.break_off and len(content) > 4096:
                self.wfile.write(content[: len(content) // 2])
                self.close_connection = True
                return
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls.certificate, tls.key)
        # The handshake is made by the thread of the connection, which alone ends when it fails.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    registry.address = f"{host}:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
