"""The agent's key is renewed in time, and a kill or a lost answer at any moment leaves it with a key that is known."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_agent import durable, identity, signatures, wire
from gpuaas_agent.node_key import NEXT, KeyLife, NodeKeyRenewal

LIFE = {"server_time": "2026-01-01T00:00:00Z", "key_expires_at": "2026-01-31T00:00:00Z"}
MIDDLE, LATE = 1768521600.0, 1769212800.0  # the 16th and the 24th of January


class LittleWire:
    """Stands where the platform is: answers as told, and keeps who signs."""

    def __init__(self, now: float, answers: list[object]) -> None:
        self.clock = self
        self._now = now
        self._answers = answers
        self.asked: list[dict[str, object]] = []
        self.asked_by: list[bytes | None] = []  # None: the node's own key
        self.signer: wire.Signer | None = None

    @contextlib.contextmanager
    def exchanging_signer(self) -> Iterator[None]:
        yield

    def now(self) -> float:
        return self._now

    def call(
        self, method: str, path: str, payload: dict[str, object], *, signer: wire.Signer | None = None
    ) -> dict[str, object]:
        self.asked.append(payload)
        self.asked_by.append(None if signer is None else signatures.raw_public_key(signer.key))
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[return-value]

    def use_signer(self, signer: wire.Signer) -> None:
        self.signer = signer


def key_on_disk(folder: Path) -> bytes:
    return signatures.raw_public_key(identity.load_or_make_key(folder))


def renewal(folder: Path, connection: LittleWire) -> NodeKeyRenewal:
    return NodeKeyRenewal(folder, "nod_1", connection)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    identity.load_or_make_key(tmp_path)
    durable.write_json(tmp_path / "node.json", {"node_id": "nod_1", "urls": [], **LIFE})
    return tmp_path


def test_it_is_due_after_two_thirds_of_its_life() -> None:
    life = KeyLife(0.0, 30.0)
    assert (life.is_due(19.9), life.is_due(20.0), KeyLife().is_due(0.0)) == (False, True, True)


def test_nothing_happens_before(folder: Path) -> None:
    connection = LittleWire(MIDDLE, [])
    renewal(folder, connection).renew_when_due()
    assert connection.asked == []


def test_the_new_key_takes_the_old_ones_place_and_signs(folder: Path) -> None:
    old = key_on_disk(folder)
    connection = LittleWire(LATE, [{"key_generation": 2, "key_expires_at": "2026-02-23T00:00:00Z"}])
    renewal(folder, connection).renew_when_due()
    assert connection.signer is not None
    assert key_on_disk(folder) == signatures.raw_public_key(connection.signer.key) != old
    assert not (folder / NEXT).exists()
    renewal(folder, connection).renew_when_due()
    assert len(connection.asked) == 1, "it was renewed a moment ago"


def test_a_lost_answer_is_asked_for_again_by_the_new_key(folder: Path) -> None:
    """The platform may have it already, and then the old one is dead: its use would look like a thief's."""
    old = key_on_disk(folder)
    connection = LittleWire(LATE, [wire.Unreachable("gone"), {"key_generation": 2, "key_expires_at": None}])
    with pytest.raises(wire.Unreachable):
        renewal(folder, connection).renew_when_due()
    assert key_on_disk(folder) == old
    renewal(folder, connection).finish_pending()  # as after a restart
    assert connection.asked[0] == connection.asked[1]
    assert key_on_disk(folder) != old
    assert connection.asked_by == [None, key_on_disk(folder)]


def test_a_request_that_never_arrived_is_made_again_by_the_old_key(folder: Path) -> None:
    unknown = wire.Refused(401, "agent_signature_invalid", "", {})
    answers = [wire.Unreachable("gone"), unknown, {"key_generation": 2, "key_expires_at": None}]
    connection = LittleWire(LATE, answers)
    agent = renewal(folder, connection)
    with pytest.raises(wire.Unreachable):
        agent.rotate()
    assert agent.rotate() == "key 2"
    assert connection.asked_by == [None, key_on_disk(folder), None]
    assert not (folder / NEXT).exists()


def test_a_wipe_ends_with_a_key_that_nobody_left_on_the_host(folder: Path) -> None:
    planted = signatures.raw_public_key(identity.load_or_make_key(folder, NEXT))
    unknown = wire.Refused(401, "agent_signature_invalid", "", {})
    answers = [unknown, *({"key_generation": number, "key_expires_at": None} for number in (2, 3))]
    connection = LittleWire(MIDDLE, answers)
    assert renewal(folder, connection).replace() == "key 3"
    registered = [base64.b64decode(str(body["public_key"])) for body in connection.asked]
    assert registered == [planted, planted, key_on_disk(folder)]
    assert key_on_disk(folder) != planted
    assert not (folder / NEXT).exists()


def test_a_platform_that_knows_only_the_next_key_is_met_with_it(folder: Path) -> None:
    refusal = wire.Refused(401, "node_key_replaced", "", {})
    connection = LittleWire(LATE, [])
    assert not renewal(folder, connection).recover(refusal), "there is no next key"
    pending: Ed25519PrivateKey = identity.load_or_make_key(folder, NEXT)
    assert not renewal(folder, connection).recover(wire.Refused(403, "node_key_expired", "", {}))
    assert renewal(folder, connection).recover(refusal)
    assert key_on_disk(folder) == signatures.raw_public_key(pending)


def test_a_platform_of_an_older_release_is_asked_once(folder: Path) -> None:
    connection = LittleWire(LATE, [wire.Refused(404, "not_found", "", {})])
    agent = renewal(folder, connection)
    agent.renew_when_due()
    agent.renew_when_due()
    assert len(connection.asked) == 1
    assert not (folder / NEXT).exists()
