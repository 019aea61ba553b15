"""A control plane of one file that speaks the agent protocol, for the agent's own tests.

It checks every signature and nonce, and remembers what it was told.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import ssl
import subprocess
import threading
import time
import urllib.parse
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from little_pki import make_ca, make_server_certificate

JsonObject = dict[str, object]
KEY_END = "2099-01-01T00:00:00Z"  # a key without an end would be renewed again and again


class Problem(Exception):
    def __init__(self, status: int, code: str, details: JsonObject | None = None) -> None:
        super().__init__(code)
        self.status, self.code, self.details = status, code, details or {}


class LittlePlatform:
    """`with LittlePlatform(folder) as platform:` serves until the block ends."""

    def __init__(self, folder: Path, address: str = "127.0.0.1", *, tls: bool = False) -> None:
        self.folder = folder
        self.address = address
        self.tls = tls
        self.token = secrets.token_hex(16)
        self.task_key = Ed25519PrivateKey.generate()
        self.nodes: dict[str, bytes] = {}
        self.former_keys: list[bytes] = []
        self.nonces: set[str] = set()
        self.tasks: dict[str, JsonObject] = {}
        self.results: dict[str, JsonObject] = {}
        self.progress: list[JsonObject] = []
        self.inventories: list[JsonObject] = []
        self.probe_reports: list[JsonObject] = []  # of one member each, as they came
        self.probes_ended: list[str] = []  # members whose probes the platform has given up
        self.heartbeats: list[JsonObject] = []
        self.enrolments: list[JsonObject] = []
        self.fail_next: list[Problem] = []
        self.skew_ms = 0
        self.host_certificate_seconds = 24 * 3600
        self.changed = threading.Condition()
        for name in ("user_ca", "host_ca"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)],
                check=True,
            )

    def __enter__(self) -> LittlePlatform:
        handler = type("Handler", (_Handler,), {"platform": self})
        self._server = _Server((self.address, 0), handler)
        self.ca_pem = b""
        if self.tls:
            ca_key, ca = make_ca()
            self.ca_pem = ca.public_bytes(serialization.Encoding.PEM)
            self.ca_der = ca.public_bytes(serialization.Encoding.DER)
            chain = make_server_certificate(ca_key, ca, self.address, self.folder)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(chain)
            # The handshake is each connection's own affair: a host that loses its power in it must not hold up the others.
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        scheme = "https" if self.tls else "http"
        return f"{scheme}://{self.address}:{self._server.server_address[1]}"

    def bundle(self) -> str:
        raw: JsonObject = {"urls": [self.url], "token": self.token}
        if self.tls:
            raw["ca_sha256"] = hashlib.sha256(self.ca_der).hexdigest()
        text = base64.urlsafe_b64encode(json.dumps(raw).encode()).rstrip(b"=").decode()
        return f"gpuaas-enrol.v1.{text}"

    def public(self, name: str) -> str:
        return (self.folder / f"{name}.pub").read_text().strip()

    def user_certificate(self, key: Path, principal: str, serial: int = 1) -> None:
        subprocess.run(
            [
                "ssh-keygen",
                "-q",
                "-s",
                str(self.folder / "user_ca"),
                "-I",
                "test",
                "-V",
                "+1h",
                "-n",
                principal,
                "-z",
                str(serial),
                f"{key}.pub",
            ],
            check=True,
        )

    def submit(
        self,
        kind: str,
        spec: JsonObject,
        *,
        resource_id: str = "alc_1",
        generation: int = 1,
        seconds: float = 60.0,
        node_id: str = "",
        signer: Ed25519PrivateKey | None = None,
    ) -> str:
        task_id = f"tsk_{secrets.token_hex(8)}"
        envelope = json.dumps(
            {
                "task_id": task_id,
                "node_id": node_id or next(iter(self.nodes)),
                "kind": kind,
                "resource_id": resource_id,
                "generation": generation,
                "deadline": (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(),
                "correlation_id": "cor_test",
                "traceparent": "",
                "spec": spec,
            }
        )
        signature = (signer or self.task_key).sign(b"gpuaas-task-v1\n" + envelope.encode())
        with self.changed:
            self.tasks[task_id] = {
                "envelope": envelope,
                "kid": "k1",
                "signature": base64.b64encode(signature).decode(),
            }
            self.changed.notify_all()
        return task_id

    def wait_result(self, task_id: str, seconds: float = 60.0) -> JsonObject:
        with self.changed:
            assert self.changed.wait_for(lambda: task_id in self.results, seconds), "no result"
            return self.results[task_id]

    def wait_probe(self, member_id: str, key: str, *statuses: str, after: int = 0, seconds: float = 60.0) -> JsonObject:
        """Wait until the probe of the member is reported to be in one of the statuses; return what was said of it."""

        def found() -> JsonObject | None:
            for report in self.probe_reports[after:]:
                for probe in report["probes"] if report["member_id"] == member_id else ():  # type: ignore[attr-defined]
                    if probe["key"] == key and probe["status"] in statuses:
                        said: JsonObject = probe
                        return said
            return None

        with self.changed:
            assert self.changed.wait_for(found, seconds), f"{key} never was {statuses}: {self.probe_reports}"
            return found() or {}

    def wait_enrolled(self, seconds: float = 180.0) -> str:
        with self.changed:
            assert self.changed.wait_for(lambda: bool(self.heartbeats), seconds), "no heartbeat"
            return next(iter(self.nodes))

    def trust(self) -> JsonObject:
        public = self.task_key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        return {
            "server_time": datetime.now(UTC).isoformat(),
            "task_keys": [{"kid": "k1", "public_key": base64.b64encode(public).decode()}],
            "user_ca_keys": [self.public("user_ca")],
            "host_ca_keys": [self.public("host_ca")],
        }

    def wipe_order(self) -> JsonObject:
        """What the platform says of the node in a wipe: facts that it has recorded before a tenant came."""
        trust = self.trust()
        identity: JsonObject = {
            "node_id": next(iter(self.nodes)),
            "urls": [self.url],
            "poll_wait_seconds": 5,
            **{key: trust[key] for key in ("task_keys", "user_ca_keys", "host_ca_keys")},
        }
        if self.tls:
            identity["tls_anchors"] = [self.ca_pem.decode()]
        first = self.heartbeats[0]
        configuration = str(first["configuration"])
        canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"))
        expected = {
            "configuration_sha256": hashlib.sha256(configuration.encode()).hexdigest(),
            "trust_sha256": hashlib.sha256(canonical.encode()).hexdigest(),
            "agent_sha256": first["agent_sha256"],
        }
        restore = {"configuration": configuration, "identity": identity}
        return {"erase_drives": True, "expected": expected, "restore": restore}

    def enrol(self, body: JsonObject) -> JsonObject:
        self.enrolments.append(body)
        if body["token"] != self.token:
            raise Problem(401, "enrolment_token_invalid")
        key = base64.b64decode(str(body["public_key"]))
        node_id = "nod_" + hashlib.sha256(key).hexdigest()[:12]
        self.nodes[node_id] = key
        return {"node_id": node_id, "poll_wait_seconds": 5, "key_expires_at": KEY_END, **self.trust()}

    def poll(self, query: dict[str, list[str]]) -> JsonObject:
        have = set(query.get("have", [""])[0].split(","))

        def waiting() -> list[JsonObject]:
            return [task for task_id, task in self.tasks.items() if task_id not in self.results and task_id not in have]

        with self.changed:
            self.changed.wait_for(waiting, float(query["wait"][0]))
            return {"server_time": datetime.now(UTC).isoformat(), "tasks": waiting()}

    def rotate(self, node_id: str, body: JsonObject) -> JsonObject:
        """The key of before is dead at once."""
        new = base64.b64decode(str(body["public_key"]))
        if self.nodes[node_id] != new:
            self.former_keys.append(self.nodes[node_id])
            self.nodes[node_id] = new
        return {"key_generation": len(self.former_keys) + 1, "key_expires_at": KEY_END}

    def certify(self, node_id: str, body: JsonObject) -> JsonObject:
        names = [str(body["address"]), node_id, str(body["allocation_id"] or "")]
        until = datetime.now(UTC) + timedelta(seconds=self.host_certificate_seconds)
        key = self.folder / f"host-{secrets.token_hex(4)}.pub"
        key.write_text(str(body["public_key"]) + "\n")
        subprocess.run(
            [
                "ssh-keygen",
                "-q",
                "-s",
                str(self.folder / "host_ca"),
                "-I",
                "host",
                "-h",
                "-n",
                ",".join(filter(None, names)),
                "-V",
                f"+{self.host_certificate_seconds}s",
                str(key),
            ],
            check=True,
        )
        certificate = key.with_name(key.name.replace(".pub", "-cert.pub")).read_text()
        return {"certificate": certificate.strip(), "valid_before": until.isoformat()}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """An agent that was killed in a test leaves broken connections; that is no news."""


class _Handler(BaseHTTPRequestHandler):
    platform: ClassVar[LittlePlatform]
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Silent."""

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            if self.platform.fail_next:
                raise self.platform.fail_next.pop(0)
            status, answer = 200, self._answer(body)
        except Problem as problem:
            status = problem.status
            answer = {"code": problem.code, "detail": problem.code, "details": problem.details}
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _answer(self, raw: bytes) -> JsonObject:
        parts = urllib.parse.urlsplit(self.path)
        path = parts.path.removeprefix("/api/v1/agent")
        platform = self.platform
        if path == "/ca":
            return {"ca_pem": platform.ca_pem.decode()}
        body: JsonObject = json.loads(raw) if raw else {}
        node_id = self._authenticate(raw, body)
        if path == "/enrol":
            return platform.enrol(body)
        if path == "/tasks":
            return platform.poll(urllib.parse.parse_qs(parts.query))
        if path == "/host-certificates":
            return platform.certify(node_id, body)
        if path == "/key":
            return platform.rotate(node_id, body)
        with platform.changed:
            platform.changed.notify_all()
            if path == "/heartbeat":
                platform.heartbeats.append(body)
                return platform.trust()
            if path == "/inventory":
                platform.inventories.append(body)
                return {}
            if path == "/probes":
                platform.probe_reports += body["members"]  # type: ignore[arg-type]
                return {"ended": platform.probes_ended}
            _, _, task_id, verb = path.split("/")
            if verb == "progress":
                platform.progress.append(body)
                return {}
            if platform.results.setdefault(task_id, body) != body:
                raise Problem(409, "task_already_reported")
            return {}

    def _authenticate(self, raw: bytes, body: JsonObject) -> str:
        fields = dict(
            part.split("=", 1) for part in self.headers["Authorization"].removeprefix("GPUAAS-AGENT ").split(",")
        )
        now_ms = int(time.time() * 1000) + self.platform.skew_ms
        if abs(now_ms - int(fields["ts"])) > 60_000:
            raise Problem(401, "agent_clock_skew", {"server_time_ms": now_ms})
        if fields["nonce"] in self.platform.nonces:
            raise Problem(401, "agent_replay")
        self.platform.nonces.add(fields["nonce"])
        key = (
            base64.b64decode(str(body["public_key"])) if fields["node"] == "-" else self.platform.nodes[fields["node"]]
        )
        text = "\n".join(
            [
                "gpuaas-agent-v1",
                self.command,
                self.path,
                fields["ts"],
                fields["nonce"],
                hashlib.sha256(raw).hexdigest(),
            ]
        )
        signature = base64.urlsafe_b64decode(fields["sig"] + "==")
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, text.encode())
        except InvalidSignature as problem:
            former = any(_has_signed(old, signature, text.encode()) for old in self.platform.former_keys)
            raise Problem(401, "node_key_replaced" if former else "agent_signature_invalid") from problem
        return fields["node"]


def _has_signed(key: bytes, signature: bytes, text: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, text)
    except InvalidSignature:
        return False
    return True
