# Derived from gpuaas_sdk/aio/tokens.py by tools/sdk-client; change that file instead.
"""Manages the short-lived token of a client: renews it before it expires, once for all concurrent callers."""

import threading
import time
from collections.abc import Callable, Mapping

from gpuaas_sdk.credentials import Credentials, Token, TokenStore
from gpuaas_sdk.errors import Denied, Unauthenticated

Exchange = Callable[[Mapping[str, str]], Token]


class TokenManager:
    """The token of one client."""

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

    def get_token(self, exchange: Exchange) -> str | None:
        """Returns the token to send, renewed first when it is about to expire and can be renewed."""
        with self._lock:
            token = self._token
            if token is not None and (token.fresh(time.time()) or not self.renewable):
                return token.access_token
            return self._renew(exchange)

    def replace_token(self, refused: str | None, exchange: Exchange) -> bool:
        """Replaces a token that the server refused. Returns False when it cannot be replaced."""
        with self._lock:
            if not self.renewable:
                return False
            if self._token is None or self._token.access_token == refused:
                self._renew(exchange)
            return True

    def _renew(self, exchange: Exchange) -> str | None:
        if self._store is None:
            return self._obtain(self._token, exchange)
        with self._store.lock():
            known, stored = self._token, self._store.load()
            if stored is not None and known is not None and stored.access_token != known.access_token:
                self._token = stored  # another process has renewed it
                if stored.fresh(time.time()):
                    return stored.access_token
            return self._obtain(self._token, exchange)

    def _obtain(self, known: Token | None, exchange: Exchange) -> str | None:
        token = self._refresh(known, exchange)
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

    def _refresh(self, known: Token | None, exchange: Exchange) -> Token | None:
        """Returns None when there is no session, or when it has ended and credentials can start another."""
        if known is None or known.refresh_token is None:
            return None
        try:
            return exchange({"grant_type": "refresh_token", "refresh_token": known.refresh_token})
        except (Unauthenticated, Denied):
            if self._credentials is None:
                raise
            return None
