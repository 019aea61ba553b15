"""The bytes that an operation's version names: pulled with a secret made for this operation, checked by their digest."""

import hashlib
import json

import httpx

from gpuaas_sdk.controller.failures import Failed
from gpuaas_sdk.controller.line import Lease
from gpuaas_sdk.generated.models import RuntimeSecret, SealedBox
from gpuaas_sdk.sealed import RecipientKey

BUCKET_SECONDS = 60.0


async def pulled(lease: Lease) -> bytes:
    """A blob, whole: for programs and scripts. What is too large for this memory, the hosts pull themselves."""
    mine = RecipientKey.new()
    secret = await lease.pull_secret(mine.public)
    if secret.kind != "blob":
        raise Failed("not_a_blob", f"{secret.digest} is an image.", next_step="Let the hosts pull it.")
    content = await _content(lease, _opened(mine, secret))
    if f"sha256:{hashlib.sha256(content).hexdigest()}" != secret.digest:
        raise Failed("digest_mismatch", f"Other bytes came than {secret.digest}.", next_step="Tell the operators.")
    return content


def _opened(mine: RecipientKey, secret: RuntimeSecret) -> dict[str, str]:
    box = SealedBox(format=secret.format, info=f"runtime-secret:{secret.id}", box=secret.sealed)
    told: dict[str, str] = json.loads(mine.open(box))
    return told


async def _content(lease: Lease, told: dict[str, str]) -> bytes:
    url, name, password = told["url"], told["username"], told["password"]
    if told["authorization"] == "basic":
        return await lease.line.client.artifacts.pull(url, name, password)
    try:  # a bucket's own URL: nothing of ours goes along, our token least of all
        async with httpx.AsyncClient(timeout=BUCKET_SECONDS) as bucket:
            answer = await bucket.get(url)
            answer.raise_for_status()
            return answer.content
    except httpx.HTTPError as error:
        why = f"The bucket does not give the artifact: {type(error).__name__}."
        raise Failed("storage_unavailable", why, next_step="Ask again in a moment.", retryable=True) from error
