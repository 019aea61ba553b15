"""A real agent renews its key with the real server; `kill -9` between any two steps leaves it a key that is known."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpuaas_agent import identity, signatures
from gpuaas_agent.node_key import NEXT
from gpuaas_sdk import Client
from system_support.agent_process import POINTS, AgentProcess
from system_support.ledger import Ledger, Row, until
from system_support.server import RunningServer


@dataclass
class Site:
    server: RunningServer
    admin: Client
    ledger: Ledger

    @contextmanager
    def agent(self, folder: Path) -> Iterator["Node"]:
        folder.mkdir()
        bundle = self.admin.enrolment_tokens.create(note="renewal", max_uses=1).bundle
        agent = AgentProcess(folder, bundle or "")
        try:
            agent.start()
            yield Node(self, agent)
        finally:
            agent.stop()


@dataclass
class Node:
    """The agent, and its node as the server's database has it."""

    site: Site
    agent: AgentProcess

    @property
    def stored(self) -> dict[str, str]:
        file = self.agent.state / "node.json"
        until(file.exists, "the enrolment")
        found: dict[str, str] = json.loads(file.read_text())
        return found

    @property
    def row(self) -> Row:
        (row,) = self.site.ledger.rows("SELECT * FROM nodes WHERE id = %s", self.stored["node_id"])
        return row

    def age_key(self) -> None:
        """To the last third of its life, as far as the agent was told."""
        aged = {**self.stored, "key_begins_at": "2020-01-01T00:00:00+00:00"}
        self.agent.stop()
        (self.agent.state / "node.json").write_text(json.dumps(aged))

    def key_on_disk(self) -> bytes:
        return signatures.raw_public_key(identity.load_or_make_key(self.agent.state))

    def wait_settled(self, generation: int) -> None:
        """Until the server has the agent's key as its newest, and the agent has no other one and knows its life."""
        until(lambda: self.row["key_generation"] >= generation, f"generation {generation}")
        until(lambda: not (self.agent.state / NEXT).exists() and self.is_known(), "one key on both sides")
        until(lambda: self.stored["key_begins_at"] > "2026", "the new key's life on disk")

    def is_known(self) -> bool:
        return self.key_on_disk() == bytes(self.row["public_key"])

    def wait_heard(self) -> None:
        """Until the server has heard of the agent as it is now: a signed call was admitted."""
        self.site.ledger.change(f"UPDATE nodes SET boot_id = 'before' WHERE id = '{self.stored['node_id']}'")
        self.agent.stop()
        self.agent.start()
        until(lambda: self.row["boot_id"] != "before", "a heartbeat")

    def restart_api(self) -> None:
        """An api that starts again has no key of before in its memory."""
        before = self.site.server.children("api")
        self.site.server.kill("api")
        until(lambda: set(self.site.server.children("api")) - set(before), "another api")
        self.site.server.wait_ready()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with RunningServer.start(login_rate_per_minute="100000") as server:
        yield Site(server, server.admin(), Ledger(server.database_url()))


def test_an_aged_key_is_renewed_and_the_new_one_signs_alone(site: Site, tmp_path: Path) -> None:
    with site.agent(tmp_path / "plain") as node:
        first = bytes(node.row["public_key"])
        node.age_key()
        node.agent.start()
        node.wait_settled(2)
        assert node.key_on_disk() != first
        node.restart_api()
        node.wait_heard()
        assert node.row["key_generation"] == 2, "it was renewed once"


@pytest.mark.parametrize("point", [point for point in POINTS if point])
def test_a_kill_between_two_steps_leaves_a_key_that_is_known(site: Site, tmp_path: Path, point: str) -> None:
    with site.agent(tmp_path / "killed") as node:
        node.age_key()
        node.agent.start(point)
        node.agent.wait_killed()
        assert node.row["key_generation"] == (1 if point == "next key not sent" else 2)
        node.agent.start()
        # Whose life was not stored counts as aged still, and is renewed once more.
        node.wait_settled(3 if point == "life not stored" else 2)
        node.wait_heard()


def test_an_agent_that_was_killed_before_it_used_its_new_key_finds_it_on_its_disk(site: Site, tmp_path: Path) -> None:
    """The old key is dead by then. The next one, which is on its disk, is the one that the server has."""
    with site.agent(tmp_path / "late") as node:
        node.age_key()
        node.agent.start("answer not used")
        node.agent.wait_killed()
        assert not node.is_known()
        node.restart_api()
        node.agent.start()
        node.wait_settled(2)
        node.wait_heard()
        assert node.row["key_generation"] == 2, "the key that the server had already is not brought in twice"
