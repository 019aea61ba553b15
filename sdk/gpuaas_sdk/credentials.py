"""Ways to sign in, and the keeper of the short-lived token that renews it before it ends."""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from gpuaas_sdk.errors import Denied, Unauthenticated

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


Exchange = Callable[[Mapping[str, str]], Token]


class TokenKeeper:
    """Holds the token of one client; threads that need a new one together ask for it once."""

    def __init__(
        self,
        token: Token | None,
        credentials: Credentials | None,
        on_token: Callable[[Token], None] | None = None,
        store: TokenStore | None = None,
    ) -> None:
        self._token = token
        self._credentials = credentials
        self._on_token = on_token
        self._store = store
        self._lock = threading.Lock()

    @property
    def renewable(self) -> bool:
        return self._credentials is not None or (self._token is not None and self._token.refresh_token is not None)

    def fresh(self, now: float) -> str | None:
        """The token, when it can be sent as it is: nobody has to be asked, nothing blocks."""
        token = self._token
        return token.access_token if token is not None and token.fresh(now) else None

    def current(self, exchange: Exchange) -> str | None:
        """The token to send now, renewed when it is about to end and that is possible."""
        with self._lock:
            token = self._token
            if token is not None and (token.fresh(time.time()) or not self.renewable):
                return token.access_token
            return self._renew(exchange)

    def replace(self, refused: str | None, exchange: Exchange) -> bool:
        """After the server refused a token: get another one. False when there is no way to."""
        with self._lock:
            if not self.renewable:
                return False
            if self._token is None or self._token.access_token == refused:
                self._renew(exchange)
            return True

    def _renew(self, exchange: Exchange) -> str | None:
        if self._store is None:
            return self._next(self._token, exchange)
        with self._store.alone():
            known, stored = self._token, self._store.load()
            if stored is not None and known is not None and stored.access_token != known.access_token:
                self._token = stored  # another process was here first
                if stored.fresh(time.time()):
                    return stored.access_token
            return self._next(self._token, exchange)

    def _next(self, known: Token | None, exchange: Exchange) -> str | None:
        token = self._refreshed(known, exchange)
        if token is None and self._credentials is not None:
            token = exchange(self._credentials.grant())
        if token is None:
            return None
        self._token = token
        if self._store is not None:
            self._store.save(token)
        if self._on_token is not None:
            self._on_token(token)
        return token.access_token

    def _refreshed(self, known: Token | None, exchange: Exchange) -> Token | None:
        """None when there is no session, or when it has ended and there are credentials to begin another."""
        if known is None or known.refresh_token is None:
            return None
        try:
            return exchange({"grant_type": "refresh_token", "refresh_token": known.refresh_token})
        except (Unauthenticated, Denied):
            if self._credentials is None:
                raise
            return None
