"""What the running agent trusts for TLS: learnt by heartbeats, kept on disk, confirmed by the next heartbeat."""

from __future__ import annotations

import threading
from pathlib import Path

from gpuaas_agent import anchors, identity, log, wire
from gpuaas_agent.anchors import Anchors


class TrustedAnchors:
    def __init__(self, state_dir: Path, known: Anchors, connection: wire.Wire) -> None:
        self._state_dir = state_dir
        self._known = known
        self._wire = connection
        self._lock = threading.Lock()
        self._asked = False  # whether this platform wants to be told: an older one refuses what it does not know
        self.unconfirmed = False  # something was learnt that no heartbeat has confirmed yet

    @property
    def known(self) -> Anchors:
        return self._known

    def confirmation(self) -> dict[str, object]:
        """For a heartbeat: what is trusted now."""
        if not self._asked:
            return {}
        self.unconfirmed = False
        return {"tls_anchors": self._known.digests}

    def learn(self, answer: dict[str, object], task_keys: dict[str, bytes]) -> None:
        """From a heartbeat's answer; `task_keys` are those that were trusted before it."""
        statement = answer.get("tls_anchors")
        if statement is None:
            return
        if not self._asked:
            self._asked = self.unconfirmed = True
        if not self._known.pems:
            return  # plain HTTP on loopback
        try:
            said = anchors.read_statement(statement, task_keys)
        except anchors.AnchorsInvalid as problem:
            log.warning("tls_anchors_not_believed", message=str(problem))
            return
        with self._lock:
            if anchors.is_newer(said, self._known):
                self._adopt(said)

    def _adopt(self, said: Anchors) -> None:
        context = identity.tls_context(said.bundle)
        if context is None:
            return
        identity.store_anchors(self._state_dir, said)
        self._wire.use_context(context)
        self._known = said
        self.unconfirmed = True
        log.event("tls_anchors_changed", anchors=said.digests)
