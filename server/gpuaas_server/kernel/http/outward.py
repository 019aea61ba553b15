"""Calls to other services. The first call loads httpx, which would be a tenth of every start."""

import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 5.0


class OutboundCallFailed(OSError):
    """There was no complete answer. The text names the kind of failure only: a message may quote what was sent."""


class CertificateRefused(OutboundCallFailed):
    """The other side showed a certificate that is not trusted, for the reason in the text. Nothing was sent to it."""


def context_with(authorities: Sequence[str]) -> ssl.SSLContext:
    """Return a context that trusts these authorities (PEM) besides the public ones, as a call without a context does."""
    import httpx

    trusted = httpx.create_ssl_context(trust_env=False)
    trusted.load_verify_locations(cadata="".join(authorities))
    return trusted


@asynccontextmanager
async def open_call(
    seconds: float,
    base_url: str = "",
    headers: Mapping[str, str] | None = None,
    trusted: ssl.SSLContext | None = None,
    follow_redirects: bool = False,
    trust_env: bool = True,
) -> AsyncIterator["httpx.AsyncClient"]:
    import httpx

    try:
        async with httpx.AsyncClient(
            base_url=base_url,
            headers=headers,
            timeout=httpx.Timeout(seconds, connect=CONNECT_SECONDS),
            verify=trusted if trusted is not None else True,
            follow_redirects=follow_redirects,
            trust_env=trust_env,
        ) as client:
            yield client
    except httpx.HTTPError as error:
        refused = _certificate_error(error)
        if refused is not None:
            raise CertificateRefused(refused.verify_message) from error
        raise OutboundCallFailed(type(error).__name__) from error


def _certificate_error(error: BaseException | None) -> ssl.SSLCertVerificationError | None:
    while error is not None and not isinstance(error, ssl.SSLCertVerificationError):
        error = error.__cause__ or error.__context__
    return error
