"""A node made of its key alone: enrols, signs requests the way docs/reference/agent-protocol.md says, and does no work."""

import base64
import hashlib
import json
import secrets
import time
from dataclasses import dataclass, field

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from requests import PreparedRequest
from requests.auth import AuthBase

from gpuaas_sdk.testing import Sandbox
from system_support.policy_callers import public_key

API = "/api/v1/agent"


def token_of(bundle: str) -> str:
    packed = bundle.removeprefix("gpuaas-enrol.v1.")
    return str(json.loads(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))["token"])


def bundle_token(sandbox: Sandbox) -> str:
    return token_of(sandbox.admin.enrolment_tokens.create(note="a node of its key alone").bundle or "")


@dataclass
class NodeSignature(AuthBase):
    """Also the `auth` of a requests session. `introduce` first; until then it signs as a host without a node id."""

    sandbox: Sandbox
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    token: str = ""
    node_id: str = "-"
    # An address belongs to one node.
    address: str = field(default_factory=lambda: f"2001:db8:{secrets.token_hex(2)}:{secrets.token_hex(2)}::1")

    def introduce(self) -> None:
        self.token = bundle_token(self.sandbox)
        answer = self.enrol()
        assert answer.status_code == 200, answer.text
        self.node_id = answer.json()["node_id"]

    def enrol(self) -> httpx.Response:
        facts = {"hostname": f"h-{secrets.token_hex(3)}", "address": self.address, "agent_version": "0.1.0"}
        raw = self.key.public_key().public_bytes_raw()
        keys = {"public_key": base64.b64encode(raw).decode(), "ssh_host_public_key": public_key()}
        return self.call("POST", "/enrol", {"token": self.token, **facts, **keys})

    def call(self, method: str, path: str, document: object = None) -> httpx.Response:
        body = b"" if document is None else json.dumps(document).encode()
        return self.send(method, path, body, self.sign(method, API + path, body))

    def send(self, method: str, path: str, body: bytes, authorization: str) -> httpx.Response:
        headers = {"Authorization": authorization, "Content-Type": "application/json"}
        return httpx.request(method, self.sandbox.server.url + API + path, content=body, headers=headers, timeout=30)

    def sign(self, method: str, target: str, body: bytes, stamp: int = 0) -> str:
        stamp, nonce = stamp or int(time.time() * 1000), secrets.token_hex(16)
        digest = hashlib.sha256(body).hexdigest()
        text = f"gpuaas-agent-v1\n{method}\n{target}\n{stamp}\n{nonce}\n{digest}"
        signature = base64.urlsafe_b64encode(self.key.sign(text.encode())).rstrip(b"=").decode()
        return f"GPUAAS-AGENT node={self.node_id},ts={stamp},nonce={nonce},sig={signature}"

    def __call__(self, request: PreparedRequest) -> PreparedRequest:
        body = request.body or b""
        raw = body.encode() if isinstance(body, str) else bytes(body)  # type: ignore[arg-type]
        request.headers["Authorization"] = self.sign(request.method or "", request.path_url, raw)
        return request
