"""Hides what a container was given in a failure of its host: the container may have printed it."""

from collections.abc import Awaitable
from typing import TypeVar

from gpuaas_containers.failures import HostFailed, hide
from gpuaas_containers.profile import read_profile
from gpuaas_sdk.controller import Context, ControllerMember, Failed
from gpuaas_sdk.errors import GpuaasError

Answer = TypeVar("Answer")


async def redact_failure(ctx: Context, member: ControllerMember, work: Awaitable[Answer]) -> Answer:
    """Return what the work returns. Its failure is without inputs and secrets, and without words if they are not known."""
    try:
        return await work
    except HostFailed as failed:
        try:
            given = await _texts_to_hide(ctx, member)
        except (Failed, GpuaasError):
            raise failed.without_words() from None
        raise hide(failed, given) from None


async def _texts_to_hide(ctx: Context, member: ControllerMember) -> list[str]:
    texts = [*read_profile(ctx.manifest, ctx.inputs, member.component_key).answers]
    for secret in (await ctx.secrets()).values() if may_have_secrets(ctx) else ():
        values = (secret.value, secret.previous)
        texts += [value.decode(errors="replace") for value in values if value is not None]
    return texts


def may_have_secrets(ctx: Context) -> bool:
    """Tells whether a container of this version or of the previous one reads secrets."""
    return any(manifest.get("secrets") for manifest in (ctx.manifest, ctx.instance.version.manifest))
