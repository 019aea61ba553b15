"""The agent's request signature, without input or output: read the header, check the time, verify Ed25519."""

import base64
import binascii
import hashlib
import re
from datetime import datetime

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem

MAX_SKEW_MS = 60_000
ENROLLING = "-"  # the node id of a host that has none yet

_HEADER = re.compile(
    r"GPUAAS-AGENT node=(-|nod_[0-9a-z]{26}),ts=([0-9]{10,15}),nonce=([0-9a-f]{32}),sig=([A-Za-z0-9_-]{86})"
)


@dataclass(frozen=True, slots=True)
class AgentSignature:
    node_id: str
    ts_ms: int
    nonce: str
    signature: bytes


def read_authorization(header: str) -> AgentSignature:
    match = _HEADER.fullmatch(header)
    if match is None:
        raise Problem("agent_signature_invalid", "The Authorization header is not a GPUAAS-AGENT signature.")
    node_id, ts_ms, nonce, signature = match.groups()
    try:
        raw = base64.urlsafe_b64decode(signature + "==")
    except binascii.Error as error:
        raise Problem("agent_signature_invalid", "The signature is not base64url.") from error
    return AgentSignature(node_id, int(ts_ms), nonce, raw)


def signed_bytes(method: str, target: str, signature: AgentSignature, body: bytes) -> bytes:
    digest = hashlib.sha256(body).hexdigest()
    lines = ("gpuaas-agent-v1", method, target, str(signature.ts_ms), signature.nonce, digest)
    return "\n".join(lines).encode()


def check_time(signature: AgentSignature, now: datetime) -> None:
    now_ms = int(now.timestamp() * 1000)
    if abs(now_ms - signature.ts_ms) > MAX_SKEW_MS:
        raise Problem(
            "agent_clock_skew",
            f"The message was signed {abs(now_ms - signature.ts_ms) // 1000} s apart from the platform's time.",
            {"server_time_ms": now_ms},
        )


def check_signature(key: Ed25519PublicKey, method: str, target: str, signature: AgentSignature, body: bytes) -> None:
    try:
        key.verify(signature.signature, signed_bytes(method, target, signature, body))
    except InvalidSignature as error:
        raise Problem("agent_signature_invalid") from error


POSSESSION_PREFIX = b"gpuaas-node-key-v1\n"


def check_possession(public_key: bytes, node_id: str, proof: str) -> None:
    """Check that whoever brings a new key has its private side: it signs the node's id."""
    try:
        raw = base64.b64decode(proof, validate=True)
        Ed25519PublicKey.from_public_bytes(public_key).verify(raw, POSSESSION_PREFIX + node_id.encode())
    except (InvalidSignature, ValueError) as error:
        raise Problem("agent_signature_invalid", "The new key did not sign the node's id.") from error


def public_key_from_base64(text: object) -> Ed25519PublicKey:
    try:
        return Ed25519PublicKey.from_public_bytes(base64.b64decode(str(text), validate=True))
    except ValueError as error:
        raise Problem("agent_signature_invalid", "public_key is not the base64 of 32 bytes.") from error
