"""Answers for browsers: the console's page with a policy that lets nothing in but our own files, and those files."""

import secrets
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from gpuaas_server.console.files import Console, ConsoleFile
from gpuaas_server.kernel.errors import Problem

NONCE_PLACE = "__CSP_NONCE__"
FOR_EVER = "public, max-age=31536000, immutable"
_NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>gpuaas</title>
<p>The platform runs. Its console is not built here: run <code>make console</code>, and start the platform again.
<p>The API is at <a href="/docs">/docs</a>."""
_SAFEGUARDS = {
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
# For what is opened by itself: a picture, say, that could hold a script.
_FILE_POLICY = "default-src 'none'; frame-ancestors 'none'"


def page_policy(nonce: str) -> str:
    """Styles that our components write themselves carry the nonce; there is no script but in our files."""
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; font-src 'self';"
        " connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    )


def answer(console: Console, request: Request) -> Response:
    """Return a file, or the page: which page it is, the console itself finds out from the path."""
    path = request.url.path
    file = console.files.get(path)
    if file is not None:
        return _file(file, request)
    if "." in path.rpartition("/")[2] and path != "/index.html":
        raise Problem("not_found", "The console has no such file.")
    return _page(console.page)


def _page(text: str | None) -> Response:
    nonce = secrets.token_urlsafe(18)
    headers = {**_SAFEGUARDS, "Content-Security-Policy": page_policy(nonce), "Cache-Control": "no-store"}
    if text is None:
        return Response(_NOT_BUILT, 503, headers, "text/html")
    return Response(text.replace(NONCE_PLACE, nonce), 200, headers, "text/html")


def _file(file: ConsoleFile, request: Request) -> Response:
    encoding, representation = file.best(request.headers.get("accept-encoding", ""))
    headers = {
        **_SAFEGUARDS,
        "Content-Security-Policy": _FILE_POLICY,
        "Cache-Control": "no-cache" if file.changes else FOR_EVER,
        "ETag": representation.etag,
    }
    if file.encoded:
        headers["Vary"] = "Accept-Encoding"
    if _is_known(request.headers, representation.etag):
        return Response(None, 304, headers)
    if encoding:
        headers["Content-Encoding"] = encoding
    return Response(representation.body, 200, headers, file.media_type)


def _is_known(headers: Mapping[str, str], etag: str) -> bool:
    shown = headers.get("if-none-match", "")
    return shown.strip() == "*" or etag in {tag.strip().removeprefix("W/") for tag in shown.split(",")}
