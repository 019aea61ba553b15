"""SSH access: certificates that work from the machine that requests them."""

from collections.abc import Sequence

from gpuaas_sdk.aio.source_addresses import SourceAddresses
from gpuaas_sdk.aio.transport import Transport
from gpuaas_sdk.generated.aio import ControllerCalls, SshAccessCalls
from gpuaas_sdk.generated.models import MachineAccess, SshCertificate, UsageAccess


class SshAccess(SshAccessCalls):
    def __init__(self, transport: Transport, sources: SourceAddresses) -> None:
        super().__init__(transport)
        self._sources = sources

    async def create_certificate(
        self,
        project_id: str,
        allocation_id: str,
        public_key: str,
        *,
        minutes: int | None = None,
        source_addresses: Sequence[str] | None = None,
        generation: int | None = None,
    ) -> SshCertificate:
        """Sign a login certificate for an active allocation, valid for an hour at most. Nothing secret is stored or sent.

        It works from this machine, or from `source_addresses` if you name them.
        """
        create = super().create_certificate
        where = (project_id, allocation_id, public_key)
        if source_addresses is not None:
            return await create(*where, minutes=minutes, source_addresses=source_addresses, generation=generation)
        return await self._sources.request(
            lambda named: create(*where, minutes=minutes, source_addresses=named, generation=generation),
            lambda issued: [issued],
        )

    async def for_operation(
        self,
        project_id: str,
        operation_id: str,
        lease_token: str,
        public_key: str,
        *,
        source_addresses: Sequence[str] | None = None,
        generation: int | None = None,
    ) -> MachineAccess:
        """Sign SSH certificates for the allocations of an operation whose lease you have. They last an hour at most and end
        with the operation.

        They work from this machine, or from `source_addresses` if you name them.
        """
        sign = super().for_operation
        where = (project_id, operation_id, lease_token, public_key)
        if source_addresses is not None:
            return await sign(*where, source_addresses=source_addresses, generation=generation)
        return await self._sources.request(
            lambda named: sign(*where, source_addresses=named, generation=generation),
            lambda issued: issued.certificates,
        )


class Controller(ControllerCalls):
    def __init__(self, transport: Transport, sources: SourceAddresses) -> None:
        super().__init__(transport)
        self._sources = sources

    async def usage_access(
        self,
        project_id: str,
        instance_id: str,
        public_key: str,
        *,
        source_addresses: Sequence[str] | None = None,
        generation: int | None = None,
    ) -> UsageAccess:
        """Sign SSH certificates with which the app's controller reads what the instance's hosts have counted, and does
        nothing else there. They last minutes.

        They work from this machine, or from `source_addresses` if you name them.
        """
        sign = super().usage_access
        where = (project_id, instance_id, public_key)
        if source_addresses is not None:
            return await sign(*where, source_addresses=source_addresses, generation=generation)
        return await self._sources.request(
            lambda named: sign(*where, source_addresses=named, generation=generation),
            lambda issued: issued.certificates,
        )
