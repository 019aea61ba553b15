"""The agent's own key has an end: it makes a new one in time, and in every wipe of a bare-metal host, and the current one
brings it in.

The new key is kept before anybody hears of it, and takes the old one's place when the platform has it; from then on the old
one is dead. A kill in between leaves both. Then the new one asks first: if the platform knows it, it is the key.
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
_NOT_OFFERED = (404, 405)  # a platform of an older release


@dataclass(frozen=True)
class KeyLife:
    """Unix times; nothing is known of a key that was enrolled with an older release."""

    begins: float | None = None
    ends: float | None = None

    def is_due(self, now: float) -> bool:
        """After two thirds of its life, or when it has no end yet."""
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
        """After a restart: a rotation that was under way ends before anything else is signed."""
        if self._store.has_next():
            self.rotate()

    def rotate(self) -> str | None:
        """A new key, now: what is to be said about it. Repeatable, so it may be called again after any failure. None: the
        platform is of an older release.
        """
        with self._wire.exchanging_signer():
            begun, new = self._store.has_next(), self._store.next_key()
            try:
                answer = self._bring_in(new, begun)
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

    def _bring_in(self, new: SigningKey, begun: bool) -> dict[str, object]:
        """When it was begun before, the platform may have the new key already: then the old one must not be used again."""
        body = rotate_request(new, self._node_id)
        if begun:
            try:
                return self._wire.call("POST", "/key", body, signer=wire.Signer(new, self._node_id))
            except wire.Refused as refusal:
                if refusal.code not in _UNKNOWN_KEY:
                    raise
        return self._wire.call("POST", "/key", body)

    def recover(self, refusal: wire.Refused) -> bool:
        """The platform does not know our key: it has the next one, if there is one. Whether that was so."""
        if refusal.code not in _UNKNOWN_KEY or not self._store.has_next():
            return False
        self._adopt(self._store.next_key())
        log.warning("node_key_recovered")
        return True

    def _adopt(self, new: SigningKey) -> None:
        self._store.adopt_next()
        self._wire.use_signer(wire.Signer(new, self._node_id))

    def _life(self) -> KeyLife:
        """As the platform said at enrolment, or with the last new key."""
        stored = durable.read_json(self._state_dir / "node.json") or {}
        begins, ends = (
            _moment(stored.get("key_begins_at", stored.get("server_time"))),
            _moment(stored.get("key_expires_at")),
        )
        return KeyLife(begins, ends)

    def _remember(self, answer: dict[str, object]) -> None:
        stored = durable.read_json(self._state_dir / "node.json") or {}
        begins = datetime.fromtimestamp(self._wire.clock.now(), UTC).isoformat()
        life = {"key_begins_at": begins, "key_expires_at": answer.get("key_expires_at")}
        durable.write_json(self._state_dir / "node.json", {**stored, **life})


def _moment(text: object) -> float | None:
    return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
