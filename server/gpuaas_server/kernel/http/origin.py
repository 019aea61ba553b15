"""How a request came, as audit rows say it: by which kind of client, and what that calls itself.

A source is what the credential shows (a browser's cookie, a node's key) or, for tokens, what the client declares in
`User-Agent`, limited to the clients that we know. Whoever writes a client of their own is `api`.
"""

from fastapi import Request

MOST_USER_AGENT = 200
_DECLARED = {"gpuaas-cli/": "cli", "gpuaas-controller/": "controller"}
_BROWSER_SESSION = "/auth/session"


def user_agent(request: Request) -> str:
    """Bounded, and with nothing in it that a terminal or a log would act on."""
    text = request.headers.get("user-agent", "")[:MOST_USER_AGENT]
    if text.isascii() and text.isprintable():
        return text
    return text.encode("unicode_escape").decode("ascii")[:MOST_USER_AGENT]


def token_source(request: Request) -> str:
    """Of a request with a token, or with nothing yet: what the client says that it is, if we know such a client."""
    said = request.headers.get("user-agent", "")
    for prefix, source in _DECLARED.items():
        if said.startswith(prefix):
            return source
    return "console" if request.scope["path"].endswith(_BROWSER_SESSION) else "api"


def cookie_source(request: Request) -> str:
    """Of a request by a signed-in caller: a cookie is the console's, whatever the browser calls itself."""
    return token_source(request) if "authorization" in request.headers else "console"
