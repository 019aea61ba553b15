"""Credentials, the token that they are traded for, and a store that several processes share."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

RENEW_BEFORE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """A TLS client certificate of a service account (PEM). The key may be in the same file."""

    certificate_file: str | Path
    key_file: str | Path | None = None


class Credentials(Protocol):
    """The body of POST /auth/token."""

    def grant(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class PasswordCredentials:
    """A user's credentials. The password may be a function; it is called only when a token is needed."""

    username: str
    password: str | Callable[[], str] = field(repr=False)

    def grant(self) -> Mapping[str, str]:
        secret = self.password if isinstance(self.password, str) else self.password()
        return {"grant_type": "password", "username": self.username, "password": secret}


@dataclass(frozen=True, slots=True)
class ServiceAccountCredentials:
    """A service account's id and the secret of one of its keys."""

    client_id: str
    client_secret: str = field(repr=False)

    def grant(self) -> Mapping[str, str]:
        return {
            "grant_type": "client_credentials",
            "client_id": self.client_id,
            "client_secret": self.client_secret,
        }


@dataclass(frozen=True, slots=True)
class Token:
    """An access token. A user's comes with a refresh token, which can be traded once for the next pair."""

    access_token: str = field(repr=False)
    expires_at: float | None = None
    refresh_token: str | None = field(default=None, repr=False)
    session_expires_at: str | None = None

    def fresh(self, now: float) -> bool:
        return self.expires_at is None or now < self.expires_at - RENEW_BEFORE_SECONDS

    def valid(self, now: float) -> bool:
        return self.expires_at is None or now < self.expires_at


class TokenStore(Protocol):
    """A store that several processes share, so that only one of them uses each refresh token."""

    def lock(self) -> AbstractContextManager[None]:
        """Lock the token: while the block runs, no other process renews it."""
        ...

    def load(self) -> Token | None: ...
    def save(self, token: Token) -> None: ...
