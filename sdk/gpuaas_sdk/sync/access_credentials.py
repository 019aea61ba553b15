# Derived from gpuaas_sdk/aio/access_credentials.py by tools/sdk-client; change that file instead.
"""Access credentials: reads a private key in one call."""

from gpuaas_sdk.generated.sync import AccessCredentialsCalls
from gpuaas_sdk.sealed import RecipientKey, UnsealError


class AccessCredentials(AccessCredentialsCalls):
    def private_key(self, project_id: str, credential_id: str) -> bytes:
        """Returns the private key of an ssh_key as an OpenSSH file. It travels sealed to a key made for this call."""
        key = RecipientKey.new()
        delivery = self.deliver(project_id, credential_id, recipient_key=key.public)
        if delivery.sealed_private_key is None:
            raise UnsealError("the delivery has no private key")
        return key.open(delivery.sealed_private_key)
