"""Access tokens: EdDSA JWTs, issued and verified by the platform alone."""

from collections.abc import Mapping
from datetime import datetime

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id

ISSUER = "gpuaas"
AUDIENCE = "gpuaas-api"
ALGORITHM = "EdDSA"
_REQUIRED = ["iss", "aud", "sub", "typ", "epoch", "jti", "iat", "exp"]


@dataclass(frozen=True, slots=True)
class Claims:
    """Holds what a token says: who (`subject`, `kind`), from which epoch, by which key of a service account, and to which
    client certificate it is bound (RFC 8705: the thumbprint, `cnf` in the token).
    """

    subject: str
    kind: str
    tenant_id: str
    epoch: int
    expires: float
    account_key: str | None = None
    certificate: str | None = None


def sign(key_id: str, key: Ed25519PrivateKey, claims: Claims, now: datetime) -> str:
    payload: dict[str, object] = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": claims.subject,
        "tid": claims.tenant_id,
        "typ": claims.kind,
        "epoch": claims.epoch,
        "jti": new_id("jti"),
        "iat": int(now.timestamp()),
        "exp": int(claims.expires),
    }
    if claims.account_key is not None:
        payload["key"] = claims.account_key
    if claims.certificate is not None:
        payload["cnf"] = {"x5t#S256": claims.certificate}
    return jwt.encode(payload, key, algorithm=ALGORITHM, headers={"kid": key_id})


def token_key_id(token: str) -> str:
    """Return the key that the token claims to be signed with. It proves nothing."""
    try:
        key_id = jwt.get_unverified_header(token).get("kid")
    except (jwt.InvalidTokenError, ValueError) as error:
        raise Problem("token_invalid") from error
    if not isinstance(key_id, str):
        raise Problem("token_invalid")
    return key_id


def verify_token(token: str, key: Ed25519PublicKey) -> Claims:
    """Return the claims of a genuine token. The caller checks `expires` each time, also for cached tokens."""
    try:
        payload = jwt.decode(
            token,
            key,
            algorithms=[ALGORITHM],
            audience=AUDIENCE,
            issuer=ISSUER,
            options={"require": _REQUIRED, "verify_exp": False, "verify_iat": False, "verify_nbf": False},
        )
        return _claims(payload)
    except (jwt.InvalidTokenError, ValueError, TypeError, KeyError) as error:
        raise Problem("token_invalid") from error


def _claims(payload: Mapping[str, object]) -> Claims:
    subject, kind, epoch, expires = payload["sub"], payload["typ"], payload["epoch"], payload["exp"]
    if not (isinstance(subject, str) and isinstance(kind, str) and isinstance(epoch, int) and isinstance(expires, int)):
        raise TypeError("a claim has the wrong type")
    key, confirmation = payload.get("key"), payload.get("cnf")
    # A token that is bound in a way that we do not know must not pass as an unbound one: KeyError or TypeError.
    certificate = None if confirmation is None else str(confirmation["x5t#S256"])  # type: ignore[index]
    account_key = None if key is None else str(key)
    return Claims(subject, kind, str(payload.get("tid") or ""), epoch, expires, account_key, certificate)
