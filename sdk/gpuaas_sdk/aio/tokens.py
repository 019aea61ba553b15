"""Manages the short-lived token of a client: renews it before it expires, once for all concurrent callers."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping

from gpuaas_sdk.credentials import Credentials, Token, TokenStore
from gpuaas_sdk.errors import Denied, Unauthenticated

Exchange = Callable[[Mapping[str, str]], Awaitable[Token]]


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
        self._lock = asyncio.Lock()

    @property
    def renewable(self) -> bool:
        return self._credentials is not None or (self._token is not None and self._token.refresh_token is not None)

    async def get_token(self, exchange: Exchange) -> str | None:
        """Returns the token to send, renewed first when it is about to expire and can be renewed."""
        async with self._lock:
            token = self._token
            if token is not None and (token.fresh(time.time()) or not self.renewable):
                return token.access_token
            return await self._renew(exchange)

    async def replace_token(self, refused: str | None, exchange: Exchange) -> bool:
        """Replaces a token that the server refused. Returns False when it cannot be replaced."""
        async with self._lock:
            if not self.renewable:
                return False
            if self._token is None or self._token.access_token == refused:
                await self._renew(exchange)
            return True

    async def _renew(self, exchange: Exchange) -> str | None:
        if self._store is None:
            return await self._obtain(self._token, exchange)
        with self._store.lock():
            known, stored = self._token, self._store.load()
            if stored is not None and known is not None and stored.access_token != known.access_token:
                self._token = stored  # another process has renewed it
                if stored.fresh(time.time()):
                    return stored.access_token
            return await self._obtain(self._token, exchange)

    async def _obtain(self, known: Token | None, exchange: Exchange) -> str | None:
        token = await self._refresh(known, exchange)
        if token is None and self._credentials is not None:
            token = await exchange(self._credentials.grant())
        if token is None:
            return None
        self._token = token
        if self._store is not None:
            self._store.save(token)
        if self._on_token is not None:
            self._on_token(token)
        return token.access_token

    async def _refresh(self, known: Token | None, exchange: Exchange) -> Token | None:
        """Returns None when there is no session, or when it has ended and credentials can start another."""
        if known is None or known.refresh_token is None:
            return None
        try:
            return await exchange({"grant_type": "refresh_token", "refresh_token": known.refresh_token})
        except (Unauthenticated, Denied):
            if self._credentials is None:
                raise
            return None
