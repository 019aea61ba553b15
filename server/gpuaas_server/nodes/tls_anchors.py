"""Tells agents which CAs to trust for TLS: under the task key's signature, and confirmed by their heartbeats."""

import base64
from collections.abc import Sequence

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.nodes.agent_schemas import SignedAnchors
from gpuaas_server.pki import service as pki
from gpuaas_server.pki.service import PublishedKey

SIGNATURE_PREFIX = b"gpuaas-tls-anchors-v1\n"


@dataclass(frozen=True, slots=True)
class _Signed:
    """A signed document, and the keys for which it was made; another set needs another document."""

    kids: tuple[str, ...]
    document: SignedAnchors


class AnchorDocuments:
    """Holds what one api process tells agents: signed once, and again when a TLS CA or a task key was added or retired."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._signed: _Signed | None = None

    async def current(self, published: Sequence[PublishedKey]) -> SignedAnchors:
        kids = tuple(key.kid for key in published if key.kind in ("tls_ca", "task_signing"))
        if self._signed is None or self._signed.kids != kids:
            self._signed = _Signed(kids, await self._sign(published))
        return self._signed.document

    async def _sign(self, published: Sequence[PublishedKey]) -> SignedAnchors:
        """Sign with the oldest live task key: every agent knows it."""
        key = (await pki.live_keys(self._platform, "task_signing"))[-1]
        if not isinstance(key.private, Ed25519PrivateKey):
            raise TypeError("the task key is not Ed25519")
        anchors = [key.certificate for key in published if key.kind == "tls_ca"]
        document = orjson.dumps({"anchors": anchors, "issued_at_ms": int(self._platform.clock().timestamp() * 1000)})
        signature = base64.b64encode(key.private.sign(SIGNATURE_PREFIX + document)).decode()
        return SignedAnchors(document=document.decode(), kid=key.kid, signature=signature)
