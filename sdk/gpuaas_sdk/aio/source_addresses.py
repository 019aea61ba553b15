"""Names the addresses that this machine connects from when a program requests SSH certificates.

The platform binds each certificate to the address of its request and to the addresses that the request names. Behind NAT,
in a VPN, or on the platform's own machine, hosts see another address than the platform does.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from gpuaas_sdk.errors import InvalidRequest
from gpuaas_sdk.generated.models import SshCertificate
from gpuaas_sdk.local_addresses import is_loopback, is_within, local_addresses

NEEDED = "source_addresses_needed"
MOST = 8  # that a request may name
Issued = TypeVar("Issued")


class SourceAddresses:
    """Remembers what requests had to name, so that the next one names it at once.

    The first one names the address towards the platform: behind NAT that is also the address towards hosts in the same site.
    """

    def __init__(self, platform_host: str | None = None) -> None:
        self._platform_host = platform_host
        self._known: list[str] = []

    async def request(
        self,
        send: Callable[[Sequence[str] | None], Awaitable[Issued]],
        certificates: Callable[[Issued], Sequence[SshCertificate]],
    ) -> Issued:
        """Send the request; if its certificates would not work from here, send it again with the right addresses. What the
        first one issued then expires unused.
        """
        if self._platform_host is not None:
            host, self._platform_host = self._platform_host, None
            self._remember([one for one in await asyncio.to_thread(local_addresses, [host]) if not is_loopback(one)])
        try:
            issued = await send(self._known or None)
        except InvalidRequest as refused:
            named = refused.details.get("hosts")
            if refused.code != NEEDED or not isinstance(named, list):
                raise
            self._remember(await asyncio.to_thread(local_addresses, [str(host) for host in named]))
            if not self._known:
                raise
            return await send(self._known)
        bound = [one for one in certificates(issued) if one.source_addresses]  # one without works from everywhere
        if all([await asyncio.to_thread(_works_from_here, one) for one in bound]):
            return issued
        self._remember(await asyncio.to_thread(local_addresses, [one.ssh.address for one in bound]))
        return await send(self._known)

    def _remember(self, found: Sequence[str]) -> None:
        """Remember the address, newest first. Hosts in two networks are reached from two addresses, and both stay named."""
        self._known = list(dict.fromkeys([*found, *self._known]))[:MOST]


def _works_from_here(certificate: SshCertificate) -> bool:
    local = local_addresses([certificate.ssh.address])
    return all(is_within(one, certificate.source_addresses) for one in local)
