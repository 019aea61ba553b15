"""Heartbeats: nearly all of them say what the one before said, and then they cost no statement."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.nodes import agent_calls
from gpuaas_server.nodes.agent_schemas import Heartbeat, PlatformTrust
from gpuaas_server.nodes.batching import Batched
from gpuaas_server.nodes.tls_anchors import AnchorDocuments

# Another replica may have heard something newer: what is remembered here is compared with the database now and then.
FACTS_LIFE = timedelta(minutes=5)
_EVERYBODY = "everybody"


class Heartbeats:
    """What one api process remembers of what agents said, and of what it answers to all of them."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._facts: dict[str, tuple[tuple[str, ...], datetime]] = {}
        self._trust = Batched(self._read_trust)
        self._documents = AnchorDocuments(platform)

    def is_news(self, node_id: str, body: Heartbeat) -> bool:
        """A host that holds something is always news: what it holds is compared with what is claimed."""
        known = self._facts.get(node_id)
        return bool(body.allocations) or known is None or known[0] != _facts(body) or known[1] <= self._platform.clock()

    def remember(self, node_id: str, body: Heartbeat) -> None:
        self._facts[node_id] = (_facts(body), self._platform.clock() + FACTS_LIFE)

    async def trust(self) -> PlatformTrust:
        """Read anew, since keys rotate; one statement for all who ask while one is under way."""
        trust = await self._trust.ask(_EVERYBODY)
        if trust is None:
            raise Problem("unavailable")
        return trust

    async def _read_trust(self, _: Sequence[str]) -> dict[str, PlatformTrust]:
        return {_EVERYBODY: await agent_calls.platform_trust(self._platform, self._documents)}


def _facts(body: Heartbeat) -> tuple[str, ...]:
    anchors = "unknown" if body.tls_anchors is None else ",".join(sorted(body.tls_anchors))
    return (body.agent_version, body.boot_id, body.address, body.ssh_host_public_key, anchors)
