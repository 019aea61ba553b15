"""The TLS client certificate that a connection has shown, if it could show one (docs/decisions/0027)."""

import hashlib
import ssl
from asyncio import BaseTransport
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING

from gpuaas_server.kernel.dataclass import dataclass

if TYPE_CHECKING:  # the worker uses this module, and loads no web framework
    from starlette.requests import HTTPConnection


@dataclass(frozen=True, slots=True)
class ShownCertificate:
    """`asked` says whether the listener asks for certificates. `thumbprint` is the one of RFC 8705, x5t#S256; TLS has
    proven that the client holds its key, and that a client CA of ours has signed it."""

    asked: bool = False
    thumbprint: str | None = None


NO_CERTIFICATE = ShownCertificate()


def thumbprint_of(certificate: bytes) -> str:
    """Return the thumbprint of a certificate in DER: SHA-256 in unpadded base64url."""
    return urlsafe_b64encode(hashlib.sha256(certificate).digest()).rstrip(b"=").decode()


def read_shown_certificate(transport: BaseTransport) -> ShownCertificate:
    """Read what the client showed in the handshake that has just ended. The listener must ask for certificates."""
    tls: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
    certificate = None if tls is None else tls.getpeercert(binary_form=True)
    return ShownCertificate(True, thumbprint_of(certificate) if certificate else None)


def shown_certificate(request: "HTTPConnection") -> ShownCertificate:
    """Return the certificate of the connection that this request came over."""
    connection = request.scope["state"].get("connection")
    return NO_CERTIFICATE if connection is None else connection.certificate
