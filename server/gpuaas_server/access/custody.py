"""A change that brings a new key pair: it is sealed before the transaction, and destroyed when the change did not use it."""

from collections.abc import Awaitable, Callable

from starlette.responses import Response

from gpuaas_server.access.credentials import PURPOSE, new_key_pair
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http import idempotency
from gpuaas_server.pki.service import SshPublicKey
from gpuaas_server.secrets import service as secrets
from gpuaas_server.secrets.service import PreparedSecret, SecretOwner, SecretRef

Custody = tuple[PreparedSecret, SshPublicKey]


async def with_new_key(
    platform: Platform,
    tenant_id: str,
    project_id: str,
    ref: SecretRef | None,
    change: Callable[[Custody], Awaitable[Response]],
) -> Response:
    """Run a change with a new key pair. When nobody knows whether it was committed the key stays: its row may need it."""
    clear, public = new_key_pair()
    prepared = await secrets.secret_prepare(platform, SecretOwner(tenant_id, project_id, PURPOSE), clear, ref)
    try:
        answer = await change((prepared, public))
    except Problem:
        await secrets.secret_discard(platform, prepared)
        raise
    if idempotency.is_replay(answer):  # the first request's key is the key
        await secrets.secret_discard(platform, prepared)
    return answer
