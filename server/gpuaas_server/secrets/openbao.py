"""OpenBao (or Vault) as the secret store: transit wraps data keys, KV v2 keeps sealed values. Only this module calls it.

A failure becomes a problem with a code; its cause goes to the log. Neither ever holds a value or a token.
"""

import base64
import logging
import ssl
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.outward import OutboundCallFailed, open_call
from gpuaas_server.kernel.settings import Settings

if TYPE_CHECKING:
    import httpx

log = logging.getLogger(__name__)
SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class OpenBao:
    """The client of the external store."""

    settings: Settings

    async def key_version(self) -> int:
        """Return the newest version of the wrapping key there."""
        answer = await self._send("GET", self._transit("keys"))
        return int(answer["data"]["latest_version"])

    async def key_rotate(self) -> int:
        await self._send("POST", f"{self._transit('keys')}/rotate", {})
        return await self.key_version()

    async def wrap(self, data_key: bytes, purpose: str, version: int) -> bytes:
        body = {"plaintext": _text(data_key), "associated_data": _text(purpose.encode()), "key_version": version}
        answer = await self._send("POST", self._transit("encrypt"), body)
        return str(answer["data"]["ciphertext"]).encode()

    async def unwrap(self, wrapped: bytes, purpose: str) -> bytes | None:
        """Return the data key; None when it was not wrapped by this key for this purpose."""
        body = {"ciphertext": wrapped.decode(), "associated_data": _text(purpose.encode())}
        answer = await self._send("POST", self._transit("decrypt"), body, none_at=400)
        return base64.b64decode(answer["data"]["plaintext"]) if answer else None

    async def put(self, name: str, sealed: bytes) -> None:
        await self._send("POST", self._kv("data", name), {"data": {"sealed": _text(sealed)}})

    async def get(self, name: str) -> bytes | None:
        answer = await self._send("GET", self._kv("data", name), none_at=404)
        return base64.b64decode(answer["data"]["data"]["sealed"]) if answer else None

    async def erase(self, name: str) -> None:
        """Delete the value with all of its versions and metadata."""
        await self._send("DELETE", self._kv("metadata", name), none_at=404)

    def _transit(self, verb: str) -> str:
        return f"{self.settings.openbao_transit_mount}/{verb}/{self.settings.openbao_transit_key}"

    def _kv(self, part: str, name: str) -> str:
        return f"{self.settings.openbao_kv_mount}/{part}/{self.settings.openbao_kv_prefix}/{name}"

    async def _send(
        self, method: str, path: str, body: Mapping[str, object] | None = None, none_at: int = 0
    ) -> dict[str, Any]:
        try:
            async with self._client() as client:
                answer = await client.request(method, f"/v1/{path}", json=body)
            if answer.status_code == none_at:
                _outage.ended()
                return {}
            if not answer.is_success:
                raise _unavailable(f"status {answer.status_code} for {method} {path.partition('/')[0]}")
            found: dict[str, Any] = answer.json() if answer.content else {}
            _outage.ended()
            return found
        except OutboundCallFailed as error:
            raise _unavailable(str(error)) from None
        except (OSError, ValueError) as error:
            raise _unavailable(type(error).__name__) from None  # its text may quote what was sent

    def _client(self) -> AbstractAsyncContextManager["httpx.AsyncClient"]:
        """Return a client with a fresh token: it is read for every call, since an agent of the store renews the file."""
        token_file, url = self.settings.openbao_token_file, self.settings.openbao_url
        if token_file is None or not url:
            raise _unavailable("openbao_url or openbao_token_file is not set")
        headers = {"X-Vault-Token": token_file.read_text().strip(), "X-Vault-Request": "true"}
        if self.settings.openbao_namespace:
            headers["X-Vault-Namespace"] = self.settings.openbao_namespace
        trusted = None
        if self.settings.openbao_ca_file is not None:
            trusted = ssl.create_default_context(cafile=str(self.settings.openbao_ca_file))
        return open_call(SECONDS, url, headers, trusted, trust_env=False)


class _Outage:
    """Logs one line when the store stops answering correctly, and one when it answers again."""

    def __init__(self) -> None:
        self._why = ""

    def began(self, why: str) -> None:
        if why != self._why:
            log.warning("the external secret store did not do what was asked", extra={"why": why})
        self._why = why

    def ended(self) -> None:
        if self._why:
            log.info("the external secret store answers again")
        self._why = ""


_outage = _Outage()


def _unavailable(why: str) -> Problem:
    _outage.began(why)
    return Problem("secret_store_unavailable", "The secret store did not respond.", headers={"Retry-After": "2"})


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
