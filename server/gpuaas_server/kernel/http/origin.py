"""The source of a request, as audit rows name it: the kind of client, and the name it gives itself.

The credential shows the source (a browser's cookie, a node's key); for tokens the client declares it in `User-Agent`, which
counts for known clients only. Any other client is `api`.
"""

from fastapi import Request

MOST_USER_AGENT = 200
_DECLARED = {"gpuaas-cli/": "cli", "gpuaas-controller/": "controller"}
_BROWSER_SESSION = "/auth/session"


def user_agent(request: Request) -> str:
    """Return the User-Agent, bounded, and without anything that a terminal or a log would act on."""
    text = request.headers.get("user-agent", "")[:MOST_USER_AGENT]
    if text.isascii() and text.isprintable():
        return text
    return text.encode("unicode_escape").decode("ascii")[:MOST_USER_AGENT]


def token_source(request: Request) -> str:
    """Return the source of a request with a token, or with none yet: what the client declares, if the client is known."""
    said = request.headers.get("user-agent", "")
    for prefix, source in _DECLARED.items():
        if said.startswith(prefix):
            return source
    return "console" if request.scope["path"].endswith(_BROWSER_SESSION) else "api"


def cookie_source(request: Request) -> str:
    """Return the source of a signed-in caller's request: a cookie is the console's, whatever the browser calls itself."""
    return token_source(request) if "authorization" in request.headers else "console"
