"""Ways to sign in, the token that comes of it, and where several processes keep it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

RENEW_BEFORE_SECONDS = 60.0


class Credentials(Protocol):
    """What is sent to POST /auth/token."""

    def grant(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class PasswordCredentials:
    """A person. The password may be a function, asked only when a token is needed."""

    username: str
    password: str | Callable[[], str] = field(repr=False)

    def grant(self) -> Mapping[str, str]:
        secret = self.password if isinstance(self.password, str) else self.password()
        return {"grant_type": "password", "username": self.username, "password": secret}


@dataclass(frozen=True, slots=True)
class ServiceAccountCredentials:
    """A service account and the secret of one of its keys."""

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
    """An access token; a person's comes with a refresh token, good once, for the next one."""

    access_token: str = field(repr=False)
    expires_at: float | None = None
    refresh_token: str | None = field(default=None, repr=False)
    session_expires_at: str | None = None

    def fresh(self, now: float) -> bool:
        return self.expires_at is None or now < self.expires_at - RENEW_BEFORE_SECONDS

    def valid(self, now: float) -> bool:
        return self.expires_at is None or now < self.expires_at


class TokenStore(Protocol):
    """Where several processes keep one session, so that each refresh token is used by one of them only."""

    def alone(self) -> AbstractContextManager[None]:
        """Nobody else renews meanwhile."""
        ...

    def load(self) -> Token | None: ...
    def save(self, token: Token) -> None: ...
