"""The client behind proxies that speak HTTP: X-Forwarded-For and X-Forwarded-Proto, from trusted peers only."""

from starlette.types import ASGIApp, Receive, Scope, Send

from gpuaas_server.kernel.networks import Networks, parse_address

_SCHEMES = {b"http": ("http", "ws"), b"https": ("https", "wss"), b"ws": ("http", "ws"), b"wss": ("https", "wss")}
MOST_HOPS = 32


class ForwardedClient:
    """Wraps the application and sets `scope["client"]` to the client that trusted proxies name.

    The last address of the list that is not a proxy's counts: the client itself wrote what stands before it.
    """

    def __init__(self, app: ASGIApp, trusted: Networks) -> None:
        self._app = app
        self._trusted = trusted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = scope.get("client")
        if client and client[0] in self._trusted:
            self._apply(scope)
        await self._app(scope, receive, send)

    def _apply(self, scope: Scope) -> None:
        forwarded = []
        for name, value in scope["headers"]:
            if name == b"x-forwarded-for":
                forwarded.append(value)
            elif name == b"x-forwarded-proto" and value.strip() in _SCHEMES:
                scope["scheme"] = _SCHEMES[value.strip()][scope["type"] == "websocket"]
        if forwarded:
            found = last_untrusted(b",".join(forwarded).decode("latin-1"), self._trusted)
            if found:
                scope["client"] = (found, 0)


def last_untrusted(header: str, trusted: Networks) -> str:
    """Return the last address that is not a trusted proxy's; the first if all are; empty if one in between is no address."""
    found = ""
    for hop in reversed(header.rsplit(",", MOST_HOPS)[-MOST_HOPS:]):
        try:
            found = str(parse_address(_without_port(hop.strip())))
        except ValueError:
            return ""
        if found not in trusted:
            break
    return found


def _without_port(hop: str) -> str:
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop
