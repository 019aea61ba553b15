"""Ways to sign in, and the keeper of the short-lived token that renews it before it ends."""

import threading
import time
from collections.abc import Callable, Mapping
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
    access_token: str = field(repr=False)
    expires_at: float | None = None

    def fresh(self, now: float) -> bool:
        return self.expires_at is None or now < self.expires_at - RENEW_BEFORE_SECONDS

    def valid(self, now: float) -> bool:
        return self.expires_at is None or now < self.expires_at


class TokenKeeper:
    """Holds the token of one client; threads that need a new one together ask for it once."""

    def __init__(
        self,
        token: Token | None,
        credentials: Credentials | None,
        on_token: Callable[[Token], None] | None = None,
    ) -> None:
        self._token = token
        self._credentials = credentials
        self._on_token = on_token
        self._lock = threading.Lock()

    @property
    def renewable(self) -> bool:
        return self._credentials is not None

    def current(self, exchange: Callable[[Mapping[str, str]], Token]) -> str | None:
        """The token to send now, renewed when it is about to end and that is possible."""
        with self._lock:
            token = self._token
            if token is not None and (token.fresh(time.time()) or not self.renewable):
                return token.access_token
            return self._renew(exchange)

    def replace(self, refused: str | None, exchange: Callable[[Mapping[str, str]], Token]) -> bool:
        """After the server refused a token: get another one. False when there is no way to."""
        if not self.renewable:
            return False
        with self._lock:
            if self._token is None or self._token.access_token == refused:
                self._renew(exchange)
            return True

    def _renew(self, exchange: Callable[[Mapping[str, str]], Token]) -> str | None:
        if self._credentials is None:
            return None
        self._token = exchange(self._credentials.grant())
        if self._on_token is not None:
            self._on_token(self._token)
        return self._token.access_token
