"""Pulls the artifact of an operation's version: with a secret made for this operation, checked by its digest."""

import json
from typing import Any

import httpx

from gpuaas_sdk.controller.failures import Failed
from gpuaas_sdk.controller.lease import Lease
from gpuaas_sdk.digests import digest_of, is_digest
from gpuaas_sdk.generated.models import RuntimeSecret, SealedBox
from gpuaas_sdk.sealed import RecipientKey

BUCKET_SECONDS = 60.0


class PublishedArtifact:
    """An artifact of the operation's version, for `host.put` and `host.unpack`: the host downloads it itself.

    Without a digest it is the version's own artifact; otherwise one that its runtime profile names.
    """

    def __init__(self, lease: Lease, digest: str | None = None) -> None:
        self._lease, self._digest = lease, digest

    async def pull_document(self) -> dict[str, object]:
        """Return what a host needs for one download: the digest, and a secret that ends with the operation."""
        key = RecipientKey.new()
        secret = await self._lease.request_pull_secret(key.public, self._digest)
        if secret.kind != "blob" or not is_digest(secret.digest):
            raise Failed("not_a_blob", f"{secret.digest} is an image.", next_step="Let the hosts pull it.")
        if self._digest not in (None, secret.digest):
            message = f"The platform gave {secret.digest} in place of {self._digest}."
            raise Failed("digest_mismatch", message, next_step="Tell the platform's operators.")
        pull = _unseal(key, secret)
        return {"digest": secret.digest, "pull": {"origins": [], "trust": [], **pull}}


async def pull_artifact(lease: Lease) -> bytes:
    """Reads a whole blob into memory, for programs and scripts. Let the hosts pull what is larger themselves."""
    key = RecipientKey.new()
    secret = await lease.request_pull_secret(key.public)
    if secret.kind != "blob":
        raise Failed("not_a_blob", f"{secret.digest} is an image.", next_step="Let the hosts pull it.")
    content = await _download(lease, _unseal(key, secret))
    if not is_digest(secret.digest) or digest_of(content) != secret.digest:
        message = f"The downloaded bytes do not have the digest {secret.digest}."
        raise Failed("digest_mismatch", message, next_step="Tell the platform's operators.")
    return content


def _unseal(key: RecipientKey, secret: RuntimeSecret) -> dict[str, Any]:
    box = SealedBox(format=secret.format, info=f"runtime-secret:{secret.id}", box=secret.sealed)
    pull: dict[str, Any] = json.loads(key.open(box))
    return pull


async def _download(lease: Lease, pull: dict[str, Any]) -> bytes:
    url, name, password = pull["url"], pull["username"], pull["password"]
    if pull["authorization"] == "basic":
        return await lease.api.artifacts.pull(url, name, password)
    try:  # the URL of a bucket: send it no header of ours, least of all our token
        async with httpx.AsyncClient(timeout=BUCKET_SECONDS) as bucket:
            answer = await bucket.get(url)
            answer.raise_for_status()
            return answer.content
    except httpx.HTTPError as error:
        message = f"The bucket did not return the artifact: {type(error).__name__}."
        raise Failed("storage_unavailable", message, next_step="Try again in a moment.", retryable=True) from error
