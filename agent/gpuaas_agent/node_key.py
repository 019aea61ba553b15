"""The agent's own key has an end: it makes a new one in time, and the current one brings it in.

The new key is on disk before anybody hears of it, and takes the old one's place when the platform has it. A kill in between
leaves both: the request is repeated with the old key, and when that is good no more, the new one is the key.
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_agent import durable, identity, log, signing, wire

POSSESSION_PREFIX = b"gpuaas-node-key-v1\n"
NEXT = "agent.key.next"
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


def rotate_request(new: Ed25519PrivateKey, node_id: str) -> dict[str, object]:
    return {
        "public_key": base64.b64encode(signing.raw_public_key(new)).decode(),
        "proof": base64.b64encode(new.sign(POSSESSION_PREFIX + node_id.encode())).decode(),
    }


def life_from_answer(answer: dict[str, object], now: float) -> KeyLife:
    ends = _moment(answer.get("key_expires_at"))
    return KeyLife() if ends is None else KeyLife(now, ends)


class NodeKeyRenewal:
    def __init__(self, state_dir: Path, node_id: str, connection: wire.Wire) -> None:
        self._state_dir = state_dir
        self._node_id = node_id
        self._wire = connection
        self._offered = True

    def renew_when_due(self) -> None:
        if self._offered and (self._pending() or self._life().is_due(self._wire.clock.now())):
            self.rotate()

    def rotate(self) -> None:
        """A new key, now. What it needs is repeatable, so it may be called again after any failure."""
        new = identity.load_or_make_key(self._state_dir, NEXT)
        try:
            answer = self._wire.call("POST", "/key", rotate_request(new, self._node_id))
        except wire.Refused as refusal:
            if refusal.status in _NOT_OFFERED:
                self._offered = False
                durable.remove(self._state_dir / NEXT)
                return
            raise
        self._adopt(new)
        self._store(answer)
        log.event("node_key_rotated", generation=answer.get("key_generation"))

    def recover(self, refusal: wire.Refused) -> bool:
        """The platform does not know our key: it has the next one, if there is one. Whether that was so."""
        if refusal.code != "agent_signature_invalid" or not self._pending():
            return False
        self._adopt(identity.load_or_make_key(self._state_dir, NEXT))
        log.warning("node_key_recovered")
        return True

    def _pending(self) -> bool:
        return (self._state_dir / NEXT).exists()

    def _adopt(self, new: Ed25519PrivateKey) -> None:
        os.replace(self._state_dir / NEXT, self._state_dir / "agent.key")
        durable.sync_folder(self._state_dir)
        self._wire.use_signer(wire.Signer(new, self._node_id))

    def _life(self) -> KeyLife:
        """As the platform said at enrolment, or with the last new key."""
        stored = durable.read_json(self._state_dir / "node.json") or {}
        begins, ends = (
            _moment(stored.get("key_begins_at", stored.get("server_time"))),
            _moment(stored.get("key_expires_at")),
        )
        return KeyLife(begins, ends)

    def _store(self, answer: dict[str, object]) -> None:
        stored = durable.read_json(self._state_dir / "node.json") or {}
        begins = datetime.fromtimestamp(self._wire.clock.now(), UTC).isoformat()
        life = {"key_begins_at": begins, "key_expires_at": answer.get("key_expires_at")}
        durable.write_json(self._state_dir / "node.json", {**stored, **life})


def _moment(text: object) -> float | None:
    return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
