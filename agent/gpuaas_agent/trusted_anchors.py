"""The CAs that the running agent trusts for TLS: learned from heartbeats, stored on disk, confirmed in the next heartbeat."""

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
        self._asked = False  # whether the platform supports confirmations; an older one refuses them
        self.unconfirmed = False  # something new was learned that no heartbeat has confirmed yet

    @property
    def known(self) -> Anchors:
        return self._known

    def confirmation(self) -> dict[str, object]:
        """Return the fields of a heartbeat that confirm the trusted CAs."""
        if not self._asked:
            return {}
        self.unconfirmed = False
        return {"tls_anchors": self._known.digests}

    def learn(self, answer: dict[str, object], task_keys: dict[str, bytes]) -> None:
        """Learn from a heartbeat's answer; `task_keys` are the keys that were trusted before it."""
        statement = answer.get("tls_anchors")
        if statement is None:
            return
        if not self._asked:
            self._asked = self.unconfirmed = True
        if not self._known.pems:
            return  # plain HTTP on loopback
        try:
            received = anchors.read_statement(statement, task_keys)
        except anchors.AnchorsInvalid as problem:
            log.warning("tls_anchors_not_trusted", message=str(problem))
            return
        with self._lock:
            if anchors.is_newer(received, self._known):
                self._adopt(received)

    def _adopt(self, received: Anchors) -> None:
        context = identity.tls_context(received.bundle)
        if context is None:
            return
        identity.store_anchors(self._state_dir, received)
        self._wire.use_context(context)
        self._known = received
        self.unconfirmed = True
        log.event("tls_anchors_changed", anchors=received.digests)
