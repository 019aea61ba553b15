"""Streams an artifact from the platform, or from the bucket that it names, to a file. The digest is computed on the way.

A blob may be larger than memory: a few buffers go round between the connection and the disk. After a break, the download
continues where it broke.
"""

import base64
import errno
import hashlib
import http.client
import os
import queue
import ssl
import threading
import time
import urllib.error
import urllib.request

from host_files import CHUNK, Failed, remove_path

SECONDS = 60.0
BUFFERS = 8
FRUITLESS = 6  # attempts without a further byte
PAUSE = 0.25
DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Redirects are followed by `open_source`, so that a bucket gets no secret and is checked as the host checks others."""

    def redirect_request(self, *arguments):
        return None


def download(request, target):
    """Tries the platform's addresses one after the other. The bytes count only with the right digest."""
    pull, problem = request["pull"], "it has no address"
    for origin in pull["origins"]:
        try:
            seen = save(origin.rstrip("/") + pull["url"], pull, target)
        except urllib.error.HTTPError as error:
            if error.code < 500:
                raise Failed("artifact_refused", f"the answer for the artifact was {error.code}") from None
            problem = f"{origin}: the answer was {error.code}"
            continue
        except (OSError, http.client.HTTPException) as error:
            if getattr(error, "errno", None) in DISK_FULL:
                raise
            problem = f"{origin}: {getattr(error, 'reason', None) or type(error).__name__}"
            continue
        if seen != request["digest"]:
            raise Failed("digest_mismatch", f"the downloaded bytes do not have the digest {request['digest']}")
        return
    raise Failed("artifact_unreachable", f"the host cannot reach the platform for the artifact: {problem}")


def save(url, pull, target):
    """Write the bytes to a new file, on the disk when this returns, and return their digest."""
    remove_path(target)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(target, flags, 0o600), "wb", 0) as file, Sink(file) as sink:
        fruitless = 0
        while True:
            before = sink.size
            try:
                receive(url, pull, sink)
                return sink.finish()
            except (OSError, http.client.HTTPException) as error:
                fruitless = 0 if sink.size > before else fruitless + 1
                if not may_continue(error, sink) or fruitless >= FRUITLESS:
                    raise
            time.sleep(PAUSE * 2**fruitless)


def may_continue(error, sink):
    """Tells whether to try an address again: after a line that broke, not when the platform could not be reached at all."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code >= 500
    return sink.error is None and sink.size > 0


def receive(url, pull, sink):
    """Hands what is missing to the sink. The platform is asked again each time: a bucket's URL is short-lived."""
    first = sink.size
    with open_source(url, pull, first) as source:
        if first and source.status != 206:
            raise Failed("artifact_refused", "the store does not continue a download")
        length = source.headers.get("Content-Length")
        while sink.fill(source):
            pass
        if length is not None and sink.size - first < int(length):
            raise ConnectionResetError("the connection broke")


class Sink:
    """Hashes what comes, and writes it in a thread of its own: neither the connection nor the hash waits for the disk."""

    def __init__(self, file):
        self.size, self.error = 0, None
        self._file, self._seen = file, hashlib.sha256()
        self._free, self._filled = queue.Queue(), queue.Queue()
        for _ in range(BUFFERS):
            self._free.put(bytearray(CHUNK))
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._filled.put(None)
        self._thread.join()

    def fill(self, source):
        """Read the next bytes of the source; return how many there were."""
        buffer = self._free.get()
        if self.error is not None:
            raise self.error
        try:
            size = source.readinto(buffer)
        except BaseException:
            self._free.put(buffer)
            raise
        self.size += size
        self._seen.update(memoryview(buffer)[:size])
        self._filled.put((buffer, size))
        return size

    def finish(self):
        """Wait until all bytes are on the disk, and return their digest."""
        for _ in range(BUFFERS):
            self._free.get()
        if self.error is not None:
            raise self.error
        os.fsync(self._file.fileno())
        return f"sha256:{self._seen.hexdigest()}"

    def _work(self):
        for buffer, size in iter(self._filled.get, None):
            try:
                if self.error is None:
                    self._store(memoryview(buffer)[:size])
            except OSError as error:
                self.error = error
            self._free.put(buffer)

    def _store(self, content):
        while content:
            content = content[self._file.write(content) :]


def open_source(url, pull, first):
    """Asks the platform with the secret, trusting its own authority alone; then the bucket that it names, if it does."""
    secret = base64.b64encode(f"{pull['username']}:{pull['password']}".encode()).decode()
    rest = {"Range": f"bytes={first}-"} if first else {}
    try:
        return open_url(url, {"Authorization": f"Basic {secret}", **rest}, "".join(pull["trust"]))
    except urllib.error.HTTPError as error:
        bucket = error.headers.get("Location", "") if error.code in (302, 307) else ""
        if not bucket.startswith(("http://", "https://")):
            raise
        return open_url(bucket, rest, "")


def open_url(url, headers, authorities):
    handlers = [NoRedirect(), urllib.request.ProxyHandler({})]
    if url.startswith("https:"):
        context = ssl.create_default_context(cadata=authorities or None)  # none named: those of the host
        handlers.append(urllib.request.HTTPSHandler(context=context))
    asked = urllib.request.Request(url, headers=headers)  # noqa: S310 - it begins with http
    return urllib.request.build_opener(*handlers).open(asked, timeout=SECONDS)
