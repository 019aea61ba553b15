"""The part of the registry protocol that a publisher needs: it pushes blobs and manifests into one repository."""

import hashlib
import ipaddress
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import urljoin

import httpx

from gpuaas_sdk.digests import digest_of
from gpuaas_sdk.errors import Problem, ServerFailed

IMAGE_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
TIMEOUT = httpx.Timeout(60.0, read=600.0)  # the registry hashes a large blob before it answers


@dataclass(frozen=True, slots=True)
class Repository:
    """`token` returns a registry token for a scope. It is called for every request: tokens live for minutes."""

    registry: str
    name: str
    token: Callable[[str], str]
    ca_file: str | None = None

    def push_blob(self, content: bytes) -> str:
        digest = digest_of(content)
        started = self._send("POST", f"/v2/{self.name}/blobs/uploads/")
        url = urljoin(self._url, started.headers["Location"])
        url += ("&" if "?" in url else "?") + f"digest={digest}"
        self._send("PUT", url, content=content, content_type="application/octet-stream")
        return digest

    def push_file(self, file: Path) -> str:
        """Push a blob of any size from a file, unless the registry has it already."""
        with file.open("rb") as content:
            digest = f"sha256:{hashlib.file_digest(content, 'sha256').hexdigest()}"
            content.seek(0)
            self.push_stream(content, digest)
        return digest

    def push_stream(self, stream: IO[bytes], digest: str) -> bool:
        """Push a blob of any size from a stream that can seek. Returns False if the registry has it already."""
        if self._send("HEAD", f"/v2/{self.name}/blobs/{digest}").is_success:
            return False
        started = self._send("POST", f"/v2/{self.name}/blobs/uploads/")
        url = urljoin(self._url, started.headers["Location"])
        url += ("&" if "?" in url else "?") + f"digest={digest}"
        self._send("PUT", url, content=stream, content_type="application/octet-stream")
        return True

    def push_manifest(self, reference: str, content: bytes, media_type: str = IMAGE_MANIFEST) -> str:
        self._send("PUT", f"/v2/{self.name}/manifests/{reference}", content=content, content_type=media_type)
        return digest_of(content)

    def manifest(self, reference: str) -> bytes | None:
        answer = self._send("GET", f"/v2/{self.name}/manifests/{reference}", accept=IMAGE_MANIFEST)
        return None if answer.status_code == 404 else answer.content

    @property
    def _url(self) -> str:
        """Plain HTTP is used only for the loopback address."""
        host = self.registry.rpartition(":")[0].strip("[]") or self.registry
        try:
            loopback = ipaddress.ip_address(host).is_loopback
        except ValueError:
            loopback = host == "localhost"
        return f"{'http' if loopback else 'https'}://{self.registry}"

    def _send(
        self,
        method: str,
        path: str,
        *,
        content: bytes | IO[bytes] | None = None,
        content_type: str = "",
        accept: str = "*/*",
    ) -> httpx.Response:
        token = self.token(f"repository:{self.name}:pull,push")
        headers = {"Authorization": f"Bearer {token}", "Accept": accept}
        if content_type:
            headers["Content-Type"] = content_type
        verify = True if self.ca_file is None else ssl.create_default_context(cafile=self.ca_file)
        try:
            answer = httpx.request(
                method, urljoin(self._url, path), content=content, headers=headers, timeout=TIMEOUT, verify=verify
            )
        except httpx.TransportError as error:
            raise _failed(f"The registry {self.registry} cannot be reached: {error}.") from error
        if answer.status_code in (401, 403):
            raise _failed(f"The registry {self.registry} did not accept the token for {self.name}.")
        if not answer.is_success and not (method in ("GET", "HEAD") and answer.status_code == 404):
            raise _failed(f"The registry {self.registry} answered {answer.status_code}.")
        return answer


def _failed(detail: str) -> ServerFailed:
    problem = Problem(
        code="registry_unavailable",
        status=0,
        detail=detail,
        next_step="Try again. If it fails again, check that you may publish in this project.",
        retryable=True,
        correlation_id="",
    )
    return ServerFailed(problem)
