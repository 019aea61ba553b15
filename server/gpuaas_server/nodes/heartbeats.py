"""Heartbeats: nearly all of them repeat the one before, and then they cost no statement."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.lookups import BatchedLookup
from gpuaas_server.nodes import agent_calls, facts
from gpuaas_server.nodes.agent_schemas import AgentHeartbeat, PlatformTrust
from gpuaas_server.nodes.tls_anchors import AnchorDocuments

# Another replica may have heard something newer: what is remembered here is compared with the database now and then.
FACTS_LIFE = timedelta(minutes=5)
_EVERYBODY = "everybody"


class Heartbeats:
    """Remembers what one api process knows of agents' heartbeats, and what it answers to all of them."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._facts: dict[str, tuple[tuple[str, ...], datetime]] = {}
        self._trust = BatchedLookup(self._read_trust)
        self._documents = AnchorDocuments(platform)

    def is_news(self, node_id: str, body: AgentHeartbeat) -> bool:
        """Tell whether a heartbeat is news. One with allocations always is: they are compared with what is claimed."""
        known = self._facts.get(node_id)
        return bool(body.allocations) or known is None or known[0] != _facts(body) or known[1] <= self._platform.clock()

    def has_moved(self, node_id: str, body: AgentHeartbeat) -> bool:
        """Tell whether its addresses must be compared with the recorded ones: they changed, or that was long ago."""
        known = self._facts.get(node_id)
        return known is None or known[0][-1] != _addresses(body) or known[1] <= self._platform.clock()

    def remember(self, node_id: str, body: AgentHeartbeat) -> None:
        self._facts[node_id] = (_facts(body), self._platform.clock() + FACTS_LIFE)

    async def trust(self) -> PlatformTrust:
        """Read what agents must trust now, since keys rotate. Callers that ask at the same time share one statement."""
        trust = await self._trust.ask(_EVERYBODY)
        if trust is None:
            raise Problem("unavailable")
        return trust

    async def _read_trust(self, _: Sequence[str]) -> dict[str, PlatformTrust]:
        return {_EVERYBODY: await agent_calls.platform_trust(self._platform, self._documents)}


def _facts(body: AgentHeartbeat) -> tuple[str, ...]:
    anchors = "unknown" if body.tls_anchors is None else ",".join(sorted(body.tls_anchors))
    claim = facts.claim_digest(body.configuration, body.agent_sha256)
    return (body.agent_version, body.boot_id, body.ssh_host_public_key, anchors, _addresses(body), claim)


def _addresses(body: AgentHeartbeat) -> str:
    return ",".join((body.address, *(("unknown",) if body.slice_addresses is None else sorted(body.slice_addresses))))
