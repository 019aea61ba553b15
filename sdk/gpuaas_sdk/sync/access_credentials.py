# Derived from gpuaas_sdk/aio/access_credentials.py by tools/sdk-client; change that file instead.
"""Access credentials: reads a private key in one call, and requests certificates that work from this machine."""

from collections.abc import Sequence

from gpuaas_sdk.generated.models import NewCredentialDelivery
from gpuaas_sdk.generated.sync import AccessCredentialsCalls
from gpuaas_sdk.sealed_boxes import RecipientKey, UnsealError
from gpuaas_sdk.sync.source_addresses import SourceAddresses
from gpuaas_sdk.sync.transport import Transport


class AccessCredentials(AccessCredentialsCalls):
    def __init__(self, transport: Transport, sources: SourceAddresses) -> None:
        super().__init__(transport)
        self._sources = sources

    def deliver(
        self,
        project_id: str,
        credential_id: str,
        *,
        allocation_id: str | None = None,
        minutes: int | None = None,
        public_key: str | None = None,
        recipient_key: str | None = None,
        source_addresses: Sequence[str] | None = None,
        generation: int | None = None,
    ) -> NewCredentialDelivery:
        """Get the private key, sealed to your X25519 key, or a certificate for your SSH key. Each delivery is logged.

        A certificate works from this machine, or from `source_addresses` if you name them.
        """
        deliver = super().deliver
        if public_key is None or source_addresses is not None:
            return deliver(
                project_id,
                credential_id,
                allocation_id=allocation_id,
                minutes=minutes,
                public_key=public_key,
                recipient_key=recipient_key,
                source_addresses=source_addresses,
                generation=generation,
            )
        return self._sources.request(
            lambda named: deliver(
                project_id,
                credential_id,
                allocation_id=allocation_id,
                minutes=minutes,
                public_key=public_key,
                recipient_key=recipient_key,
                source_addresses=named,
                generation=generation,
            ),
            lambda issued: [] if issued.certificate is None else [issued.certificate],
        )

    def private_key(self, project_id: str, credential_id: str) -> bytes:
        """Returns the private key of an ssh_key as an OpenSSH file. It travels sealed to a key made for this call."""
        key = RecipientKey.new()
        delivery = self.deliver(project_id, credential_id, recipient_key=key.public)
        if delivery.sealed_private_key is None:
            raise UnsealError("the delivery has no private key")
        return key.open(delivery.sealed_private_key)
