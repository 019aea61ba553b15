"""Reads small documents beside an image in its registry: manifests by tag or digest, and blobs. The pull's secret stays in
memory, and goes to the registry and to the server of tokens that it names; a store that it redirects to gets none.
"""

import base64
import contextlib
import http.client
import json
import re
import signal
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request

from host_commands import Failed

MOST_BYTES = 4 << 20
SECONDS = 30.0
REDIRECTS = (301, 302, 303, 307, 308)
MOST_REDIRECTS = 3
MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, "
    "application/vnd.docker.distribution.manifest.v2+json"
)
PARAMETER = re.compile(r'([A-Za-z]+)="([^"]*)"')


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments):
        return None


class Repository:
    """The repository of the image that a request of `pull` names."""

    def __init__(self, request, deadline):
        self._request, self._registry = request, request["registry"]
        self.name = request["reference"][len(self._registry) + 1 :].rpartition("@")[0]
        self._origin = f"{'https' if request['tls'] else 'http'}://{self._registry}"
        self._authorization, self._deadline = None, deadline
        handlers = [NoRedirect(), urllib.request.ProxyHandler({})]
        if request["tls"]:
            context = ssl.create_default_context()
            if request["trust"]:
                context.load_verify_locations(cadata="".join(request["trust"]))
            handlers.append(urllib.request.HTTPSHandler(context=context))
        self._opener = urllib.request.build_opener(*handlers)

    def manifest(self, reference):
        return self._read(f"manifests/{reference}")

    def blob(self, digest):
        return self._read(f"blobs/{digest}")

    def referrers(self, digest, kind):
        return self._read(f"referrers/{digest}?artifactType={urllib.parse.quote(kind, safe='')}")

    def _read(self, place):
        """Returns the bytes, or None where the registry has nothing."""
        try:
            return self._get(f"{self._origin}/v2/{self.name}/{place}")
        except urllib.error.HTTPError as error:
            if error.code in (400, 404, 405):  # 400 and 405: a registry without referrers
                return None
            code = "image_denied" if error.code in (401, 403) else "image_pull_failed"
            raise Failed(code, f"the registry answered {error.code} for the signatures of the image") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            why = getattr(error, "reason", None) or type(error).__name__
            why = getattr(why, "reason", None) or why  # urllib wraps what happens before the answer
            raise Failed("image_pull_failed", f"the signatures of the image cannot be read: {why}") from None

    def _get(self, url):
        headers = {"Accept": MANIFESTS, **({"Authorization": self._authorization} if self._authorization else {})}
        try:
            return self._follow(url, headers)
        except urllib.error.HTTPError as error:
            if error.code != 401 or self._authorization:
                raise
            self._authorization = self._answer(error.headers.get_all("WWW-Authenticate") or [])
            if self._authorization is None:
                raise
        return self._follow(url, {**headers, "Authorization": self._authorization})

    def _follow(self, url, headers):
        for _ in range(MOST_REDIRECTS + 1):
            try:
                return self._open(url, headers)
            except urllib.error.HTTPError as error:
                if error.code not in REDIRECTS:
                    raise
                url, headers = self._same_security(urllib.parse.urljoin(url, error.headers.get("Location", ""))), {}
        raise Failed("image_pull_failed", "the registry redirects without an end")

    def _same_security(self, url):
        if not url.startswith(("https://",) if self._request["tls"] else ("https://", "http://")):
            raise Failed("image_pull_failed", "the registry names a place without encryption")
        return url

    def _answer(self, challenges):
        """Return the Authorization header that answers these challenges; None if the host has no credential."""
        basic = None
        if self._request["username"]:
            words = f"{self._request['username']}:{self._request['password']}"
            basic = f"Basic {base64.b64encode(words.encode()).decode()}"
        for challenge in challenges:
            scheme, _, rest = challenge.strip().partition(" ")
            given = dict(PARAMETER.findall(rest))
            if scheme.lower() == "bearer" and "realm" in given:
                return f"Bearer {self._token(given, basic)}"
        return basic

    def _token(self, given, basic):
        wanted = {"scope": f"repository:{self.name}:pull", **{k: given[k] for k in ("service",) if k in given}}
        realm = self._same_security(given["realm"])
        url = f"{realm}{'&' if '?' in realm else '?'}{urllib.parse.urlencode(wanted)}"
        told = json.loads(self._open(url, {"Authorization": basic} if basic else {}))
        return told.get("token") or told["access_token"]

    def _open(self, url, headers):
        asked = urllib.request.Request(url, headers=headers)  # noqa: S310 - it begins with http
        found = b""
        with ends_at(self._deadline), self._opener.open(asked, timeout=SECONDS) as answer:
            while chunk := answer.read1(1 << 16):
                found += chunk
                if len(found) > MOST_BYTES:
                    raise ValueError("too long")
        return found


class TooSlow(OSError):
    reason = "the registry takes too long"


@contextlib.contextmanager
def ends_at(deadline):
    """Raises TooSlow in the main thread. A registry that sends a byte now and then, in its header or its body, does not hold
    the host for longer than the pull may take: the time of a connection begins anew with each byte.
    """

    def end(*_):
        raise TooSlow

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, max(deadline - time.monotonic(), 0.1))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
