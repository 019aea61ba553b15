"""Which CAs an agent trusts: only what a task key that it knows has signed, never what is older, and it is kept."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from little_pki import make_ca

from gpuaas_agent import anchors, durable, identity, signatures, wire
from gpuaas_agent.anchors import Anchors, AnchorsInvalid
from gpuaas_agent.trusted_anchors import TrustedAnchors

KEY = Ed25519PrivateKey.generate()
KNOWN = {"k1": signatures.raw_public_key(KEY)}


def pem() -> str:
    return make_ca()[1].public_bytes(serialization.Encoding.PEM).decode()


def statement(*pems: str, issued_at_ms: int = 1, kid: str = "k1", key: Ed25519PrivateKey = KEY) -> dict[str, str]:
    document = json.dumps({"anchors": list(pems), "issued_at_ms": issued_at_ms})
    signature = base64.b64encode(key.sign(anchors.SIGNATURE_PREFIX + document.encode())).decode()
    return {"document": document, "kid": kid, "signature": signature}


def test_what_a_known_task_key_has_signed_is_believed() -> None:
    old, new = pem(), pem()
    said = anchors.read_statement(statement(new, old), KNOWN)
    assert said == Anchors((new, old), 1)
    assert anchors.split_bundle(said.bundle) == (new, old)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        statement(pem(), kid="k2"),
        statement(pem(), key=Ed25519PrivateKey.generate()),
        {**statement(pem()), "document": statement(pem())["document"]},
        statement(),
        statement("no certificate"),
        statement(pem() + pem()),
        {**statement(pem()), "signature": "?"},
    ],
    ids=["nothing", "unknown key", "another key", "exchanged", "no CA", "no certificate", "two in one", "no signature"],
)
def test_anything_else_is_not(wrong: object) -> None:
    with pytest.raises(AnchorsInvalid):
        anchors.read_statement(wrong, KNOWN)


def test_what_was_said_earlier_or_says_the_same_changes_nothing() -> None:
    old, new = pem(), pem()
    known = Anchors((old,), 5)
    assert not anchors.is_newer(Anchors((new,), 5), known)
    assert not anchors.is_newer(Anchors((new,), 4), known)
    assert not anchors.is_newer(Anchors((old,), 6), known)
    assert anchors.is_newer(Anchors((new, old), 6), known)


def agent_with(folder: Path, known: Anchors) -> TrustedAnchors:
    durable.write_json(folder / "node.json", {"node_id": "nod_1", "urls": ["https://a"], "ca_pem": known.bundle})
    return TrustedAnchors(folder, known, wire.Wire(["https://a"], identity.tls_context(known.bundle), wire.Clock()))


def test_a_new_ca_is_on_disk_and_confirmed_by_the_next_heartbeat(tmp_path: Path) -> None:
    old, new = pem(), pem()
    trusted = agent_with(tmp_path, Anchors((old,)))
    assert trusted.confirmation() == {}, "an older platform would refuse the field"
    trusted.learn({"tls_anchors": statement(new, old)}, KNOWN)
    assert trusted.unconfirmed
    assert trusted.confirmation() == {"tls_anchors": [anchors.digest(new), anchors.digest(old)]}
    assert not trusted.unconfirmed
    stored = identity.load(tmp_path)
    assert stored is not None
    assert stored.anchors == Anchors((new, old), 1)
    trusted.learn({"tls_anchors": statement(new, issued_at_ms=2)}, KNOWN)
    assert trusted.confirmation() == {"tls_anchors": [anchors.digest(new)]}


def test_a_statement_that_is_not_believed_leaves_all_as_it_was(tmp_path: Path) -> None:
    old = pem()
    trusted = agent_with(tmp_path, Anchors((old,)))
    trusted.learn({"tls_anchors": statement(pem(), kid="stranger")}, KNOWN)
    assert trusted.confirmation() == {"tls_anchors": [anchors.digest(old)]}


def test_an_agent_without_tls_confirms_that_it_needs_none(tmp_path: Path) -> None:
    trusted = agent_with(tmp_path, Anchors(()))
    trusted.learn({"tls_anchors": statement(pem())}, KNOWN)
    assert trusted.confirmation() == {"tls_anchors": []}
