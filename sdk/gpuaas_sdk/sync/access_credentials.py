# Derived from gpuaas_sdk/aio/access_credentials.py by tools/sdk-client; change that file instead.
"""Access credentials, beyond one call each: get a private key sealed, and open it here."""

from gpuaas_sdk.generated.sync import AccessCredentialsCalls
from gpuaas_sdk.sealed import NotForUs, RecipientKey


class AccessCredentials(AccessCredentialsCalls):
    def private_key(self, project_id: str, credential_id: str) -> bytes:
        """The private key of an ssh_key, an OpenSSH file: sealed to a key of this call, and opened here."""
        mine = RecipientKey.new()
        delivery = self.deliver(project_id, credential_id, recipient_key=mine.public)
        if delivery.sealed_private_key is None:
            raise NotForUs("the delivery holds no private key")
        return mine.open(delivery.sealed_private_key)
