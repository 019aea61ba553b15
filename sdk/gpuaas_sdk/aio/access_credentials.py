"""Access credentials: reads a private key in one call."""

from gpuaas_sdk.generated.aio import AccessCredentialsCalls
from gpuaas_sdk.sealed import RecipientKey, UnsealError


class AccessCredentials(AccessCredentialsCalls):
    async def private_key(self, project_id: str, credential_id: str) -> bytes:
        """Returns the private key of an ssh_key as an OpenSSH file. It travels sealed to a key made for this call."""
        key = RecipientKey.new()
        delivery = await self.deliver(project_id, credential_id, recipient_key=key.public)
        if delivery.sealed_private_key is None:
            raise UnsealError("the delivery has no private key")
        return key.open(delivery.sealed_private_key)
