"""Signatures: the agent signs its requests, the platform signs its tasks. This module does no I/O, so that the real agent
and the simulated fleet share it.
"""

from __future__ import annotations

import base64
import hashlib
import secrets

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gpuaas_agent import protocol
from gpuaas_agent.signing_key import SigningKey

REQUEST_SCHEME = "gpuaas-agent-v1"


def canonical_request(method: str, path: str, ts_ms: int, nonce: str, body: bytes) -> bytes:
    digest = hashlib.sha256(body).hexdigest()
    return f"{REQUEST_SCHEME}\n{method}\n{path}\n{ts_ms}\n{nonce}\n{digest}".encode()


def authorization(key: SigningKey, node_id: str, method: str, path: str, body: bytes, ts_ms: int) -> str:
    nonce = secrets.token_hex(16)
    signature = key.sign(canonical_request(method, path, ts_ms, nonce, body))
    text = base64.urlsafe_b64encode(signature).rstrip(b"=").decode()
    return f"GPUAAS-AGENT node={node_id},ts={ts_ms},nonce={nonce},sig={text}"


def raw_public_key(key: SigningKey) -> bytes:
    return key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)


def decode_base64(text: str) -> bytes:
    """Decode base64 in the standard or URL alphabet, with or without padding."""
    plain = text.strip().rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)


def verify_task(task: protocol.SignedTask, task_keys: dict[str, bytes], node_id: str) -> protocol.Envelope:
    """Return the envelope if the platform signed it for this node."""
    public = task_keys.get(task.kid)
    if public is None:
        raise protocol.EnvelopeInvalid(f"the task key {task.kid!r} is not known")
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(
            decode_base64(task.signature),
            protocol.TASK_SIGNATURE_PREFIX + task.envelope.encode(),
        )
    except (InvalidSignature, ValueError) as problem:
        raise protocol.EnvelopeInvalid("the task's signature is invalid") from problem
    envelope = protocol.parse_envelope(task.envelope)
    if envelope.node_id != node_id:
        raise protocol.EnvelopeInvalid(f"the task is for node {envelope.node_id!r}")
    return envelope
