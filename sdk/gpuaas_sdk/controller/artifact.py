"""Pulls the artifact of an operation's version: with a secret made for this operation, checked by its digest."""

import json
from dataclasses import dataclass, field
from typing import Any

import httpx

from gpuaas_sdk.controller.failures import Failed
from gpuaas_sdk.controller.lease import Lease
from gpuaas_sdk.digests import digest_of, is_digest
from gpuaas_sdk.generated.models import RuntimeSecret, SealedBox
from gpuaas_sdk.sealed_boxes import RecipientKey

BUCKET_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class SignatureKey:
    """A public key (PEM) whose signatures count; `algorithm` begins with `ecdsa`, `rsa` or `ed25519`."""

    fingerprint: str
    algorithm: str
    public_key: str


@dataclass(frozen=True, slots=True)
class SignaturePolicy:
    """Says whether the tenant that launches requires a signature of an image, and has the keys that it trusts.

    They came sealed with the operation. A host checks the image's signature by them, and believes no key of the registry's.
    """

    required: bool
    keys: tuple[SignatureKey, ...] = ()


@dataclass(frozen=True, slots=True)
class ImagePull:
    """Gives a host what it needs to pull an image with any registry client: its reference by digest, and a name and password
    that end with the operation. `trust` has certificates of authorities that count for the registry beside the host's own. For
    an external registry they are the publisher's, or empty for a public image: keep them off disks and process lists.
    """

    digest: str
    reference: str
    registry: str
    username: str
    password: str = field(repr=False)
    tls: bool = True
    trust: tuple[str, ...] = ()
    size_bytes: int | None = None  # of its compressed layers, as the registry keeps them; None: not known
    signature_policy: SignaturePolicy | None = None  # None: this platform does not tell it


class PublishedArtifact:
    """An artifact of the operation's version, for `host.put` and `host.unpack`: the host downloads it itself.

    Without a digest it is the version's own; with one, a further artifact that the version refers to.
    """

    def __init__(self, lease: Lease, digest: str | None = None) -> None:
        self._lease = lease
        self._digest = digest

    async def _secret(self, key: RecipientKey) -> RuntimeSecret:
        secret = await self._lease.request_pull_secret(key.public, self._digest)
        if self._digest is not None and secret.digest != self._digest:
            raise Failed("digest_mismatch", f"The platform names another artifact than {self._digest}.")
        return secret

    async def pull_document(self) -> dict[str, object]:
        """Return what a host needs for one download: the digest, and a secret that ends with the operation."""
        key = RecipientKey.new()
        secret = await self._secret(key)
        if secret.kind != "blob" or not is_digest(secret.digest):
            raise Failed("not_a_blob", f"{secret.digest} is an image.", next_step="Let the hosts pull it.")
        pull = _unseal(key, secret)
        return {"digest": secret.digest, "pull": {"origins": [], "trust": [], **pull}}

    async def image_pull(self) -> ImagePull:
        """Return what a host needs to pull the artifact, if it is an image. Compare the digest that the host then has."""
        key = RecipientKey.new()
        secret = await self._secret(key)
        if secret.kind != "oci" or not is_digest(secret.digest):
            raise Failed("not_an_image", f"{secret.digest} is a file.", next_step="Publish the version as an image.")
        pull = _unseal(key, secret)
        if not str(pull["reference"]).endswith(f"@{secret.digest}"):
            raise Failed("digest_mismatch", f"The platform names another image than {secret.digest}.")
        return ImagePull(
            digest=secret.digest,
            reference=pull["reference"],
            registry=pull["registry"],
            username=pull["username"],
            password=pull["password"],
            tls=pull.get("tls", True),
            trust=tuple(pull.get("trust", ())),
            size_bytes=pull.get("size_bytes"),
            signature_policy=_signature_policy(pull.get("signature_policy")),
        )


def _signature_policy(told: dict[str, Any] | None) -> SignaturePolicy | None:
    if told is None:
        return None
    keys = [SignatureKey(one["fingerprint"], one["algorithm"], one["public_key"]) for one in told["keys"]]
    return SignaturePolicy(bool(told["require_signature"]), tuple(keys))


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
