"""The CAs that the agent trusts for TLS: pinned at enrolment, then renewed by statements that a task key signed.

A new CA arrives over a connection that the agent already trusts, and only with the signature of a task key that it
already knows. A stolen server certificate alone is therefore not enough to add a CA.
"""

from __future__ import annotations

import hashlib
import json
import ssl
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gpuaas_agent import signatures

SIGNATURE_PREFIX = b"gpuaas-tls-anchors-v1\n"
_END = "-----END CERTIFICATE-----"


class AnchorsInvalid(Exception):
    """The statement about the platform's CAs is missing, malformed or not signed by a known key."""


@dataclass(frozen=True)
class Anchors:
    """Certificates in PEM, and when the platform issued the statement; empty if the agent needs no TLS."""

    pems: tuple[str, ...]
    issued_at_ms: int = 0

    @property
    def bundle(self) -> str:
        return "".join(self.pems)

    @property
    def digests(self) -> list[str]:
        return [digest(pem) for pem in self.pems]


def digest(pem: str) -> str:
    """Return the SHA-256 of a certificate's DER, which identifies a CA in enrolment bundles and heartbeats."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem.strip())).hexdigest()


def split_bundle(bundle: str) -> tuple[str, ...]:
    parts = (part.strip() for part in bundle.split(_END))
    return tuple(f"{part}\n{_END}\n" for part in parts if part)


def read_statement(statement: object, task_keys: dict[str, bytes]) -> Anchors:
    """Return the anchors in a heartbeat's answer if one of these task keys signed them."""
    if not isinstance(statement, dict):
        raise AnchorsInvalid("there is no statement")
    public = task_keys.get(str(statement.get("kid")))
    if public is None:
        raise AnchorsInvalid("the key that signed it is not known")
    document = str(statement.get("document"))
    try:
        signature = signatures.decode_base64(str(statement.get("signature")))
        Ed25519PublicKey.from_public_bytes(public).verify(signature, SIGNATURE_PREFIX + document.encode())
        content = json.loads(document)
        pems = tuple(str(pem) for pem in content["anchors"])
        issued_at_ms = int(content["issued_at_ms"])
        if not pems or any(len(split_bundle(pem)) != 1 for pem in pems):
            raise ValueError("it names no CA, or one is not a certificate")
        ssl.create_default_context(cadata="".join(pems))
    except (InvalidSignature, ValueError, KeyError, TypeError, ssl.SSLError) as problem:
        raise AnchorsInvalid(str(problem) or "the signature is wrong") from problem
    return Anchors(pems, issued_at_ms)


def is_newer(received: Anchors, known: Anchors) -> bool:
    """Tell whether the received anchors should replace the known ones: they are newer and different."""
    return received.issued_at_ms > known.issued_at_ms and set(received.digests) != set(known.digests)
