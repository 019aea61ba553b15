"""What schemathesis needs to get past the door: ids of things that exist, and requests signed like a node's."""

import base64
import hashlib
import json
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from requests import PreparedRequest
from requests.auth import AuthBase
from schemathesis import Case
from schemathesis.generation.meta import CoveragePhaseData

from system_support.policy_cast import furnish, public_key, set_apart
from system_support.world import World

_ID = re.compile("[a-z]{3}_[0-7][0-9a-hjkmnp-tv-z]{25}")
# Filled when the server runs.
PREY: dict[str, str] = {}


def adapt(case: Case[Any]) -> None:
    """Make of a case one that gets further, and leave what is wrong with it wrong."""
    _drop_leaked_headers(case)
    for name, value in dict(case.path_parameters or {}).items():
        case.path_parameters[name] = _real(name, value)
    if case.query and re.fullmatch("[0-9]|[1-5][0-9]|60", str(case.query.get("wait"))):
        case.query["wait"] = 0  # a long poll that may wait would wait
    body: Any = case.body
    if isinstance(body, dict) and isinstance(body.get("expires_at"), str):
        # That an expiry lies ahead is nothing that a schema can say.
        case.body = {**body, "expires_at": re.sub(r"^\d{4}(?=-)", "2999", body["expires_at"])}
    key = case.headers.get("Idempotency-Key") if case.headers else None
    if isinstance(key, str) and re.fullmatch("[!-~]{8,128}", key):
        case.headers["Idempotency-Key"] = secrets.token_hex(16)  # used for one request, as it should be


def _real(name: str, value: object) -> object:
    """Three well-formed ids in four become ids of things that exist."""
    if isinstance(value, str) and _ID.fullmatch(value) and hashlib.sha256(value.encode()).digest()[0] % 4:
        return PREY.get(name, value)
    return value


def _drop_leaked_headers(case: Case[Any]) -> None:
    """The coverage phase finds no text for these patterns that does not read as JSON, and puts one of its *wrong*
    values in their place, also into cases that it calls valid. They are left out unless they are what is tested.
    """
    data = case.meta.phase.data if case.meta is not None else None
    if isinstance(data, CoveragePhaseData):
        for name in ("If-Match", "Last-Event-ID"):
            if name in case.headers and data.parameter != name and not data.description.startswith(name):
                del case.headers[name]


@contextmanager
def prey(world: World) -> Iterator[None]:
    """Things of every kind that may be changed, ended and deleted."""
    with world.simulated_fleet(2, first_index=900) as nodes:
        place = furnish(world.admin, world.tenant_id, world.project_id)
        PREY.update(set_apart(world.admin, nodes, {place["allocation_node"]}) | place)
        try:
            yield
        finally:
            PREY.clear()


@dataclass
class NodeSignature(AuthBase):
    """Signs a request the way docs/reference/agent-protocol.md says; enrolled on creation."""

    world: World
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    node_id: str = "-"

    def __post_init__(self) -> None:
        bundle = self.world.admin.enrolment_tokens.create(note="fuzzed").bundle or ""
        packed = bundle.removeprefix("gpuaas-enrol.v1.")
        token = json.loads(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))["token"]
        body = json.dumps(
            {
                "token": token,
                "public_key": base64.b64encode(self.key.public_key().public_bytes_raw()).decode(),
                "hostname": "fuzzed",
                "address": "192.0.2.9",
                "ssh_host_public_key": public_key(),
                "agent_version": "0.1.0",
            }
        ).encode()
        path = "/api/v1/agent/enrol"
        headers = {"Authorization": self.sign("POST", path, body), "Content-Type": "application/json"}
        answer = httpx.post(self.world.server.url + path, content=body, headers=headers)
        assert answer.status_code == 200, answer.text
        self.node_id = answer.json()["node_id"]

    def sign(self, method: str, target: str, body: bytes) -> str:
        stamp, nonce = int(time.time() * 1000), secrets.token_hex(16)
        digest = hashlib.sha256(body).hexdigest()
        text = f"gpuaas-agent-v1\n{method}\n{target}\n{stamp}\n{nonce}\n{digest}"
        signature = base64.urlsafe_b64encode(self.key.sign(text.encode())).rstrip(b"=").decode()
        return f"GPUAAS-AGENT node={self.node_id},ts={stamp},nonce={nonce},sig={signature}"

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        body = request.body or b""
        raw = body.encode() if isinstance(body, str) else bytes(body)  # type: ignore[arg-type]
        request.headers["Authorization"] = self.sign(request.method or "", request.path_url, raw)
        return request
