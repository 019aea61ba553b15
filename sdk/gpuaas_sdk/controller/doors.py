"""The way into an operation's machines: a key made for it alone, certificates from the platform, and hosts that prove
themselves to the platform's host CA. Nothing is written to a disk, and no other key or known host counts.
"""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import asyncssh

from gpuaas_sdk.controller.failures import Failed
from gpuaas_sdk.controller.hosts import Host
from gpuaas_sdk.controller.line import Lease
from gpuaas_sdk.generated.models import MachineAccess, SshCertificate

CONNECT_SECONDS, LOGIN_SECONDS = 10.0, 20.0  # a host that answers at all may be slow
RENEW_BEFORE = timedelta(minutes=5)


class Doors:
    def __init__(self, lease: Lease, environment: Mapping[str, str]) -> None:
        self._lease = lease
        self._environment = environment
        self._key = asyncssh.generate_private_key("ssh-ed25519")
        self._access: MachineAccess | None = None
        self._hosts: dict[str, Host] = {}
        self._lock = asyncio.Lock()

    async def open(self, allocation_id: str) -> Host:
        """The machine of an allocation; connected when the first command is run."""
        certificate = await self._certificate(allocation_id)
        if allocation_id not in self._hosts:
            address = certificate.ssh.address
            self._hosts[allocation_id] = Host(address, lambda: self._connect(allocation_id), self._environment)
        return self._hosts[allocation_id]

    async def close(self) -> None:
        await asyncio.gather(*(host.close() for host in self._hosts.values()))

    async def _connect(self, allocation_id: str) -> asyncssh.SSHClientConnection:
        given = await self._certificate(allocation_id)
        known = "".join(f"@cert-authority * {key}\n" for key in given.host_ca_keys)
        return await asyncssh.connect(
            given.ssh.address,
            given.ssh.port,
            username=given.ssh.user,
            client_keys=[(self._key, asyncssh.import_certificate(given.certificate))],
            known_hosts=asyncssh.import_known_hosts(known),
            host_key_alias=allocation_id,  # the name that the host's certificate is for
            config=None,
            agent_path=None,
            preferred_auth="publickey",
            connect_timeout=CONNECT_SECONDS,
            login_timeout=LOGIN_SECONDS,
            keepalive_interval=15,
        )

    async def _certificate(self, allocation_id: str) -> SshCertificate:
        async with self._lock:
            if self._access is None or _ends_soon(self._access):
                public = self._key.export_public_key("openssh").decode().strip()
                self._access = await self._lease.machine_access(public)
            access = self._access
        for one in access.certificates:
            if one.principal == allocation_id:
                return one
        closed = {one.allocation_id: one.state for one in access.unreachable}.get(
            allocation_id, "not of this operation"
        )
        raise Failed(
            "host_closed",
            f"There is no way into {allocation_id}: {closed}.",
            next_step="Look at the allocation.",
            retryable=True,
        )


def _ends_soon(access: MachineAccess) -> bool:
    return access.valid_before is not None and access.valid_before - datetime.now(UTC) < RENEW_BEFORE
