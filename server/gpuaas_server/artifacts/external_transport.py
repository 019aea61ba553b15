"""Sends requests to a registry that is not the platform's own, and may be anybody's. Every host on the way is on the operator's
list, its address is looked up once and checked, and times, redirects and sizes are bounded.

The publisher's credential goes to the registry itself and to the token service that the registry names, to nobody else.
"""

import asyncio
import base64
import socket
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urljoin, urlsplit

import orjson

from gpuaas_server.artifacts.challenges import Challenge, parse_challenges
from gpuaas_server.artifacts.registry_tokens import Access
from gpuaas_server.artifacts.registry_transport import ABSENT, SECONDS, limited
from gpuaas_server.kernel.allowed_hosts import AllowedHosts, Origin, origin_of
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.outward import CertificateRefused, context_with, open_call

if TYPE_CHECKING:
    import httpx

MAX_REDIRECTS = 5
MAX_TOKEN_ANSWER = 64 << 10
LOOKUP_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class PullCredential:
    username: str
    password: str = field(repr=False)

    @property
    def header(self) -> str:
        return "Basic " + base64.b64encode(f"{self.username}:{self.password}".encode()).decode()


class ExternalTransport:
    """Speaks to one registry. It answers the registry's challenge once, and keeps the answer for the requests that follow."""

    def __init__(
        self,
        hosts: AllowedHosts,
        registry: str,
        credential: PullCredential | None,
        authorities: Sequence[str] = (),
    ) -> None:
        """Raise `registry_not_allowed` for a registry that is not on the list. Authorities (PEM) count besides the public
        ones.
        """
        scheme = hosts.scheme_of(registry)
        origin = None if scheme is None else origin_of(f"{scheme}://{registry}")
        if origin is None:
            raise not_allowed(registry)
        self._hosts, self._origin, self._credential = hosts, origin, credential
        self._authorities = authorities
        self._authorization: str | None = None

    @cached_property
    def _trusted(self) -> ssl.SSLContext | None:
        return context_with(self._authorities) if self._authorities else None

    @asynccontextmanager
    async def request(
        self, method: str, path: str, access: Access, headers: Mapping[str, str]
    ) -> AsyncIterator["httpx.Response"]:
        url = f"{self._origin.scheme}://{self._origin.netloc}{path}"
        try:
            async with open_call(SECONDS, trusted=self._trusted, trust_env=False) as client:
                answer = await self._answer(client, method, url, access, headers)
                try:
                    _require_answer(answer)
                    yield answer
                finally:
                    await answer.aclose()
        except CertificateRefused as error:
            refused = "The certificate of the registry, or of a host that it names, is refused"
            raise Problem("registry_untrusted", f"{refused}: {str(error).rstrip('.')}.") from error
        except OSError as error:
            raise Problem(
                "registry_unavailable", "The registry cannot be reached, or closed the connection."
            ) from error

    async def _answer(
        self, client: "httpx.AsyncClient", method: str, url: str, access: Access, headers: Mapping[str, str]
    ) -> "httpx.Response":
        """Send the request with the authentication that the registry requires. An expired token is requested once more."""
        earlier = self._authorization
        if earlier is None:
            self._authorization = await self._authorize(client, url, access)
        answer = await self._follow(client, method, url, headers)
        if answer.status_code == 401 and earlier is not None:
            await answer.aclose()
            self._authorization = None
            self._authorization = await self._authorize(client, url, access)
            answer = await self._follow(client, method, url, headers)
        return answer

    async def _authorize(self, client: "httpx.AsyncClient", url: str, access: Access) -> str:
        """Ask the registry how to authenticate. Return the value of the header; empty if the registry requires none."""
        answer = await self._follow(client, "GET", url, {})
        await answer.aclose()
        if answer.status_code != 401:
            return ""
        challenges = parse_challenges(answer.headers.get_list("www-authenticate"))
        bearer = next((one for one in challenges if one.scheme == "bearer" and one.realm), None)
        if bearer is not None:
            return f"Bearer {await self._token(client, bearer, access)}"
        if self._credential is not None and any(one.scheme == "basic" for one in challenges):
            return self._credential.header
        raise Problem("registry_denied", "The registry requires a user name and a password.")

    async def _token(self, client: "httpx.AsyncClient", challenge: Challenge, access: Access) -> str:
        if origin_of(challenge.realm) is None:
            raise not_allowed("The token service that the registry names")
        scope = f"repository:{access.repository}:{','.join(sorted(access.actions))}"
        wanted = {"service": challenge.service, "scope": scope} if challenge.service else {"scope": scope}
        url = challenge.realm + ("&" if urlsplit(challenge.realm).query else "?") + urlencode(wanted)
        headers = {} if self._credential is None else {"Authorization": self._credential.header}
        answer = await self._send(client, "GET", url, headers)
        try:
            _require_answer(answer)
            raw = await limited(answer, MAX_TOKEN_ANSWER)
        finally:
            await answer.aclose()
        return _read_token(raw)

    async def _follow(
        self, client: "httpx.AsyncClient", method: str, url: str, headers: Mapping[str, str]
    ) -> "httpx.Response":
        """Send the request, and follow redirects. Another host than the registry gets no credential."""
        for _ in range(MAX_REDIRECTS + 1):
            own = origin_of(url) == self._origin
            extra = {"Authorization": self._authorization} if own and self._authorization else {}
            answer = await self._send(client, method, url, {**headers, **extra})
            place = answer.headers.get("location")
            if not answer.has_redirect_location or place is None:
                return answer
            await answer.aclose()
            url = _join(url, place)
        raise Problem("registry_unavailable", f"The registry redirects more than {MAX_REDIRECTS} times.")

    async def _send(
        self, client: "httpx.AsyncClient", method: str, url: str, headers: Mapping[str, str]
    ) -> "httpx.Response":
        """Send one request to the address that was checked, whatever the name leads to a moment later."""
        origin = origin_of(url)
        if origin is None or not self._hosts.allows(origin):
            raise not_allowed(origin.netloc if origin else "A URL that the registry redirects to")
        address = await self._address(origin)
        rest = urlsplit(url)
        target = Origin(origin.scheme, address, origin.port).netloc
        path = f"{rest.path or '/'}?{rest.query}" if rest.query else rest.path or "/"
        try:
            request = client.build_request(
                method,
                f"{origin.scheme}://{target}{path}",
                headers={**headers, "Host": origin.netloc, "Accept-Encoding": "identity"},
                extensions={"sni_hostname": origin.host},
            )
        except ValueError as error:
            raise Problem("registry_unavailable", "The registry names a URL that cannot be requested.") from error
        return await client.send(request, stream=True, follow_redirects=False)

    async def _address(self, origin: Origin) -> str:
        """Look the name up. A name of which any address is not allowed is refused as a whole."""
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(LOOKUP_SECONDS):
            found = await loop.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
        addresses = [str(one[4][0]) for one in sorted(found, key=lambda one: one[0] != socket.AF_INET)]
        if not addresses or not all(self._hosts.allows_address(origin, one) for one in addresses):
            raise Problem("registry_not_allowed", f"{origin.netloc} has an address that is not public.")
        return addresses[0]


def _join(url: str, place: str) -> str:
    try:
        return urljoin(url, place)
    except ValueError as error:
        raise Problem("registry_unavailable", "The registry redirects to something that is not a URL.") from error


def not_allowed(host: str) -> Problem:
    return Problem("registry_not_allowed", f"{host} is not on the list of external registries.")


def _require_answer(answer: "httpx.Response") -> None:
    if answer.status_code in (401, 403):
        raise Problem("registry_denied", f"The registry answered {answer.status_code}.")
    if answer.status_code not in ABSENT and not answer.is_success:
        raise Problem("registry_unavailable", f"The registry answered {answer.status_code}.")


def _read_token(raw: bytes) -> str:
    try:
        document = orjson.loads(raw)
    except ValueError:
        document = None
    token = (document.get("token") or document.get("access_token")) if isinstance(document, dict) else None
    if not isinstance(token, str) or not token.isascii() or not token.isprintable():
        raise Problem("registry_denied", "The registry's token service returned no token.")
    return token
