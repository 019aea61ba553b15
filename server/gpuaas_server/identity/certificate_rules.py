"""Checks what an account demands of its tokens where client certificates are concerned. Pure; docs/decisions/0027."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.client_certificates import ShownCertificate

_NONE_SHOWN = "The client showed no certificate."
_CANNOT_SHOW = (
    "This connection cannot carry a client certificate: its listener does not ask for one, or something in front of it"
    " ends TLS."
)


@dataclass(frozen=True, slots=True)
class CertificateRules:
    """An account's rule for its tokens, and when each of its certificates expires, by thumbprint."""

    required: bool
    expiries: Mapping[str, datetime]

    def bind_token(self, shown: ShownCertificate, now: datetime) -> str | None:
        """Return the thumbprint that a new token is bound to; None leaves it unbound. Refuse a certificate that is not good."""
        if shown.thumbprint is None:
            if self.required:
                raise certificate_required(shown)
            return None
        self._refuse_unknown(shown.thumbprint, now)
        return shown.thumbprint

    def check_token(self, bound_to: str | None, shown: ShownCertificate, now: datetime) -> None:
        """Refuse a bound token without its certificate, and an unbound one where binding is required."""
        if bound_to is None:
            if self.required:
                raise Problem("client_certificate_required", "The token is not bound to a client certificate.")
            return
        if shown.thumbprint is None:
            raise certificate_required(shown)
        if shown.thumbprint != bound_to:
            raise Problem("client_certificate_refused", "The token is bound to another client certificate.")
        self._refuse_unknown(bound_to, now)

    def _refuse_unknown(self, thumbprint: str, now: datetime) -> None:
        expires_at = self.expiries.get(thumbprint)
        if expires_at is None:
            raise Problem("client_certificate_refused", "The certificate is not registered for this account.")
        if expires_at <= now:
            raise Problem("client_certificate_refused", "The certificate has expired.")


def certificate_required(shown: ShownCertificate) -> Problem:
    return Problem("client_certificate_required", _NONE_SHOWN if shown.asked else _CANNOT_SHOW)


NO_RULES = CertificateRules(False, {})


def rules_of(required: bool, rows: Sequence[tuple[str, float]] | None) -> CertificateRules:
    """Return the rules from the database, where certificates are pairs of a thumbprint and its end in seconds."""
    ends = {thumbprint: datetime.fromtimestamp(end, UTC) for thumbprint, end in rows or ()}
    return CertificateRules(required, ends) if required or ends else NO_RULES
