"""The CAs that the agent trusts for TLS: pinned at enrolment, then renewed by what the platform's task key has signed.

A rotation of the CA reaches the agent through the connection that it already trusts, and only under the signature of a task
key that it already knew: whoever speaks to it with a stolen server certificate alone cannot add a CA.
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
    """What came is no statement of the platform about its CAs."""


@dataclass(frozen=True)
class Anchors:
    """Certificates in PEM, and when the platform said so; empty where the agent needs no TLS."""

    pems: tuple[str, ...]
    issued_at_ms: int = 0

    @property
    def bundle(self) -> str:
        return "".join(self.pems)

    @property
    def digests(self) -> list[str]:
        return [digest(pem) for pem in self.pems]


def digest(pem: str) -> str:
    """SHA-256 of the certificate's DER, as enrolment bundles and heartbeats name a CA."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem.strip())).hexdigest()


def split_bundle(bundle: str) -> tuple[str, ...]:
    parts = (part.strip() for part in bundle.split(_END))
    return tuple(f"{part}\n{_END}\n" for part in parts if part)


def read_statement(statement: object, task_keys: dict[str, bytes]) -> Anchors:
    """The anchors of a heartbeat's answer, if one of these task keys has signed them."""
    if not isinstance(statement, dict):
        raise AnchorsInvalid("there is no statement")
    public = task_keys.get(str(statement.get("kid")))
    if public is None:
        raise AnchorsInvalid("the key that signed it is not known yet")
    document = str(statement.get("document"))
    try:
        signature = signatures.decode_base64(str(statement.get("signature")))
        Ed25519PublicKey.from_public_bytes(public).verify(signature, SIGNATURE_PREFIX + document.encode())
        said = json.loads(document)
        pems = tuple(str(pem) for pem in said["anchors"])
        issued_at_ms = int(said["issued_at_ms"])
        if not pems or any(len(split_bundle(pem)) != 1 for pem in pems):
            raise ValueError("it names no CA, or one is not a certificate")
        ssl.create_default_context(cadata="".join(pems))
    except (InvalidSignature, ValueError, KeyError, TypeError, ssl.SSLError) as problem:
        raise AnchorsInvalid(str(problem) or "the signature is wrong") from problem
    return Anchors(pems, issued_at_ms)


def is_newer(said: Anchors, known: Anchors) -> bool:
    """Whether it should replace what is known: never what was said earlier, nor what says the same."""
    return said.issued_at_ms > known.issued_at_ms and set(said.digests) != set(known.digests)
