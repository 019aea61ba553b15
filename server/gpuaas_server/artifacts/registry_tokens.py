"""Tokens of the registry's token protocol: what is asked for (`scope`), and the signed answer. Pure.

The registry trusts the certificate of our key (`rootcertbundle`), which travels in each token (`x5c`).
"""

import base64
from collections.abc import Iterable
from datetime import datetime, timedelta

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.ids import is_id, new_id

ISSUER = "gpuaas"
SERVICE = "gpuaas-registry"
LIFE = timedelta(minutes=5)
# For hosts. The artifact is checked again for each new token, so hosts soon stop pulling a revoked one.
HOST_LIFE = timedelta(minutes=1)
CLOCK_SLACK = timedelta(seconds=30)
PULL, PUSH, DELETE = "pull", "push", "delete"


@dataclass(frozen=True, slots=True)
class Access:
    """Some actions on one repository. The first part of its name is the id of the project that owns it."""

    repository: str
    actions: frozenset[str]

    @property
    def project_id(self) -> str | None:
        first, slash, name = self.repository.partition("/")
        return first if slash and name and is_id("prj", first) else None


def parse_scopes(scopes: Iterable[str]) -> list[Access]:
    """Read the repositories that are asked for. Other kinds of scope (all repositories) are given to nobody."""
    asked = []
    for scope in (one for text in scopes for one in text.split()):
        kind, _, rest = scope.partition(":")
        repository, _, actions = rest.rpartition(":")
        if kind == "repository" and repository:
            asked.append(Access(repository, frozenset(filter(None, actions.split(",")))))
    return asked


@dataclass(frozen=True, slots=True)
class RegistryKey:
    private: EllipticCurvePrivateKey
    certificate: str  # PEM


def registry_token(
    key: RegistryKey, subject: str, granted: Iterable[Access], now: datetime, life: timedelta = LIFE
) -> str:
    claims = {
        "iss": ISSUER,
        "sub": subject,
        "aud": SERVICE,
        "iat": int(now.timestamp()),
        "nbf": int((now - CLOCK_SLACK).timestamp()),
        "exp": int((now + life).timestamp()),
        "jti": new_id("jti"),
        "access": [
            {"type": "repository", "name": one.repository, "actions": sorted(one.actions)}
            for one in granted
            if one.actions
        ],
    }
    certificate = x509.load_pem_x509_certificate(key.certificate.encode())
    chain = [base64.b64encode(certificate.public_bytes(serialization.Encoding.DER)).decode()]
    return jwt.encode(claims, key.private, algorithm="ES256", headers={"x5c": chain})
