"""Rotates the agent's own key: before it expires, and in every wipe of a bare-metal host. The current key signs the
request that registers the new one.

The new key is stored before it is sent, and becomes current when the platform has it; the old key is then refused. After
a kill in between, both keys exist. The agent then tries the new key first: the platform may know it already.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gpuaas_agent import durable, log, signatures, wire
from gpuaas_agent.key_store import NEXT, FileKeyStore, KeyStore, SigningKey

__all__ = ["NEXT", "KeyLife", "NodeKeyRenewal", "life_from_answer", "rotate_request"]

POSSESSION_PREFIX = b"gpuaas-node-key-v1\n"
_UNKNOWN_KEY = ("agent_signature_invalid", "node_key_replaced")
_NOT_OFFERED = (404, 405)  # an older platform has no such endpoint


@dataclass(frozen=True)
class KeyLife:
    """Unix times of a key's life; unknown for a key that was enrolled with an older release."""

    begins: float | None = None
    ends: float | None = None

    def is_due(self, now: float) -> bool:
        """Tell whether the key must be renewed: two thirds of its life are over, or its end is unknown."""
        if self.begins is None or self.ends is None:
            return True
        return now >= self.begins + (self.ends - self.begins) * 2 / 3


def rotate_request(new: SigningKey, node_id: str) -> dict[str, object]:
    return {
        "public_key": base64.b64encode(signatures.raw_public_key(new)).decode(),
        "proof": base64.b64encode(new.sign(POSSESSION_PREFIX + node_id.encode())).decode(),
    }


def life_from_answer(answer: dict[str, object], now: float) -> KeyLife:
    ends = _moment(answer.get("key_expires_at"))
    return KeyLife() if ends is None else KeyLife(now, ends)


class NodeKeyRenewal:
    def __init__(self, state_dir: Path, node_id: str, connection: wire.Wire) -> None:
        self._state_dir = state_dir
        self._store: KeyStore = FileKeyStore(state_dir)
        self._node_id = node_id
        self._wire = connection
        self._offered = True

    def renew_when_due(self) -> None:
        if self._offered and (self._store.has_next() or self._life().is_due(self._wire.clock.now())):
            self.rotate()

    def finish_pending(self) -> None:
        """After a restart, complete an interrupted rotation before anything else is signed."""
        if self._store.has_next():
            self.rotate()

    def replace(self) -> str | None:
        """Rotate to a key that is made now, for a wipe. A next key that is already on disk may be one that a tenant put
        there and knows; it may also be one that the platform has. It is registered first, and dead right afterwards.
        """
        self.finish_pending()
        return self.rotate()

    def rotate(self) -> str | None:
        """Rotate the key now and return a detail for the record, or None if the platform is older. It may be repeated
        after any failure.
        """
        with self._wire.exchanging_signer():
            begun, new = self._store.has_next(), self._store.next_key()
            try:
                answer = self._register(new, begun)
            except wire.Refused as refusal:
                if refusal.status in _NOT_OFFERED:
                    self._offered = False
                    self._store.discard_next()
                    return None
                raise
            self._adopt(new)
        self._remember(answer)
        log.event("node_key_rotated", generation=answer.get("key_generation"))
        return f"key {answer.get('key_generation')}"

    def _register(self, new: SigningKey, begun: bool) -> dict[str, object]:
        """Send the new key. If an earlier attempt was interrupted, the platform may have it already: try it first."""
        body = rotate_request(new, self._node_id)
        if begun:
            try:
                return self._wire.call("POST", "/key", body, signer=wire.Signer(new, self._node_id))
            except wire.Refused as refusal:
                if refusal.code not in _UNKNOWN_KEY:
                    raise
        return self._wire.call("POST", "/key", body)

    def recover(self, refusal: wire.Refused) -> bool:
        """Adopt the next key if the platform refused the current one as unknown. Returns whether it did."""
        if refusal.code not in _UNKNOWN_KEY or not self._store.has_next():
            return False
        self._adopt(self._store.next_key())
        log.warning("node_key_recovered")
        return True

    def _adopt(self, new: SigningKey) -> None:
        self._store.adopt_next()
        self._wire.use_signer(wire.Signer(new, self._node_id))

    def _life(self) -> KeyLife:
        """Return the life of the key, from the enrolment or from the last rotation."""
        stored = durable.read_json(self._state_dir / "node.json") or {}
        begins, ends = (
            _moment(stored.get("key_begins_at", stored.get("server_time"))),
            _moment(stored.get("key_expires_at")),
        )
        return KeyLife(begins, ends)

    def _remember(self, answer: dict[str, object]) -> None:
        begins = datetime.fromtimestamp(self._wire.clock.now(), UTC).isoformat()
        life = {"key_begins_at": begins, "key_expires_at": answer.get("key_expires_at")}
        durable.update_json(self._state_dir / "node.json", life)


def _moment(text: object) -> float | None:
    return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
