"""SSH connections to the hosts of one operation.

The key pair is made for this operation and never written to disk. The platform signs it, and a host is accepted only with a
certificate of the platform's host CA; no other key or known host counts.
"""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import asyncssh

from gpuaas_sdk.controller.failures import Failed
from gpuaas_sdk.controller.hosts import Host
from gpuaas_sdk.controller.lease import Lease
from gpuaas_sdk.generated.models import MachineAccess, SshCertificate
from gpuaas_sdk.host_text import UnsafeTarget, check_target

CONNECT_SECONDS, LOGIN_SECONDS = 10.0, 20.0  # a reachable host may be slow
RENEW_BEFORE = timedelta(minutes=5)


class HostConnections:
    def __init__(self, lease: Lease, environment: Mapping[str, str]) -> None:
        self._lease = lease
        self._environment = environment
        self._key = asyncssh.generate_private_key("ssh-ed25519")
        self._access: MachineAccess | None = None
        self._hosts: dict[str, Host] = {}
        self._lock = asyncio.Lock()

    async def get_host(self, allocation_id: str) -> Host:
        """Return the host of an allocation. It connects when the first command runs."""
        certificate = await self._get_certificate(allocation_id)
        if allocation_id not in self._hosts:
            address = certificate.ssh.address
            self._hosts[allocation_id] = Host(address, lambda: self._connect(allocation_id), self._environment)
        return self._hosts[allocation_id]

    async def close(self) -> None:
        await asyncio.gather(*(host.close() for host in self._hosts.values()))

    async def _connect(self, allocation_id: str) -> asyncssh.SSHClientConnection:
        certificate = await self._get_certificate(allocation_id)
        return await connect_with(certificate, self._key)

    async def _get_certificate(self, allocation_id: str) -> SshCertificate:
        async with self._lock:
            if self._access is None or _expires_soon(self._access):
                public = self._key.export_public_key("openssh").decode().strip()
                self._access = await self._lease.request_machine_access(public)
            access = self._access
        for one in access.certificates:
            if one.principal == allocation_id:
                return validate_address(one)
        reason = {one.allocation_id: one.state for one in access.unreachable}.get(
            allocation_id, "it does not belong to this operation"
        )
        raise Failed(
            "host_closed",
            f"There is no access to {allocation_id}: {reason}.",
            next_step="Check the allocation.",
            retryable=True,
        )


async def connect_with(certificate: SshCertificate, key: asyncssh.SSHKey) -> asyncssh.SSHClientConnection:
    """Log in to the certificate's host. No other key, and no other host, is accepted."""
    known = "".join(f"@cert-authority * {authority}\n" for authority in certificate.host_ca_keys)
    return await asyncssh.connect(
        certificate.ssh.address,
        certificate.ssh.port,
        username=certificate.ssh.user,
        client_keys=[(key, asyncssh.import_certificate(certificate.certificate))],
        known_hosts=asyncssh.import_known_hosts(known),
        host_key_alias=certificate.principal,  # the allocation: the principal of the host's certificate
        config=None,
        agent_path=None,
        preferred_auth="publickey",
        connect_timeout=CONNECT_SECONDS,
        login_timeout=LOGIN_SECONDS,
        keepalive_interval=15,
    )


def validate_address(certificate: SshCertificate) -> SshCertificate:
    """Check the address, which also ends up in configuration files and in commands that people type."""
    try:
        check_target(certificate.ssh)
    except UnsafeTarget as error:
        raise Failed(
            "ssh_target_refused", f"{certificate.principal}: {error}.", next_step="Check the allocation."
        ) from error
    return certificate


def _expires_soon(access: MachineAccess) -> bool:
    return access.valid_before is not None and access.valid_before - datetime.now(UTC) < RENEW_BEFORE
