"""The secrets of an instance, as a handler reads them: opened with a key of this operation, kept in memory only."""

from dataclasses import dataclass, field

from gpuaas_sdk.controller.failures import Failed
from gpuaas_sdk.controller.lease import Lease
from gpuaas_sdk.sealed_boxes import RecipientKey


@dataclass(frozen=True)
class AppSecret:
    """A secret of the instance. Neither value is in its text, so that no log has it."""

    name: str
    version: int
    value: bytes = field(repr=False)
    previous: bytes | None = field(repr=False)  # what members may still have, until a rotation has succeeded
    rotated: bool  # this operation has to bring the value to members that have the previous one


async def read_secrets(lease: Lease) -> dict[str, AppSecret]:
    """Read all secrets of the operation's instance. The platform makes generated ones that there are not yet."""
    key = RecipientKey.new()
    found = await lease.request_secrets(key.public)
    return {
        one.name: AppSecret(
            one.name,
            one.version,
            key.open(one.sealed),
            None if one.previous_sealed is None else key.open(one.previous_sealed),
            one.rotated,
        )
        for one in found.items
    }


def find_secret(secrets: dict[str, AppSecret], name: str) -> AppSecret:
    if name not in secrets:
        message = f"The instance has no secret {name}."
        step = "Declare it in the manifest's `secrets`; if it is given by people, set its value."
        raise Failed("secret_missing", message, next_step=step)
    return secrets[name]
