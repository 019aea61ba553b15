"""kill -9 of every part at every step of an allocation's life: it ends as if nothing had happened, each step once."""

import json
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import pytest

from gpuaas_sdk import GpuaasError, NewAllocation
from gpuaas_sdk.testing import Sandbox
from system_support.agents import SimulatedAgents
from system_support.ledger import Ledger, until
from system_support.server import RunningServer

# Each as the ledger shows it; the last three follow a request to release.
STEPS = [
    ("requested", None),
    ("provisioning", "provision"),
    ("active", None),
    ("releasing", "deprovision"),
    ("releasing", "wipe"),
    ("releasing", "verify_wipe"),
]
SLOW = bool(os.environ.get("GPUAAS_TEST_SLOW"))
TASK_MILLISECONDS = "300"  # how long a simulated host takes, so that each step can be seen


@dataclass
class Scene:
    sandbox: Sandbox
    ledger: Ledger
    agents: SimulatedAgents
    events_file: Path

    def kill(self, victim: str) -> None:
        if victim == "agents":
            self.agents.restart()
        elif victim == "everything":
            os.kill(self.sandbox.server.process.pid, signal.SIGKILL)
            self.sandbox.server.process.wait(60)
            self.sandbox.server.restart()
        else:
            self.sandbox.server.kill(victim)


def insist(action: Callable[[], object], seconds: float = 60.0) -> None:
    """The API may be away for a moment; what is asked here may be asked twice."""

    def attempt() -> bool:
        try:
            action()
        except GpuaasError as error:
            if not error.retryable:
                raise
            return False
        return True

    until(attempt, "an answer of the API", seconds)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Short leases and short polls: a killed part's work is taken over soon. No host counts as lost meanwhile, however long
    its agent takes to start again: a release on a lost host has a life of its own (test_lost_hosts_simulated.py).
    """
    short = {"work_lease_seconds": "2", "node_lost_seconds": "600", "login_rate_per_minute": "100000"}
    events_file = tmp_path_factory.mktemp("sink") / "events.jsonl"
    with RunningServer.start(**short, event_sink_file=str(events_file)) as server:
        sandbox = Sandbox.create(server)
        sandbox.offer()
        with sandbox.simulated_agents(2, "--delay-ms", TASK_MILLISECONDS) as (_, agents):
            yield Scene(sandbox, Ledger(server.database_url()), agents, events_file)


@pytest.mark.parametrize("victim", ["api", "worker", "postgres", "agents"])
def test_an_allocation_outlives_a_kill_at_every_step(scene: Scene, victim: str) -> None:
    for state, phase in STEPS:
        live_through(scene, victim, state, phase)
    scene.ledger.assert_all_is_free_again(scene.sandbox.tenant_id)


def test_an_allocation_outlives_the_end_of_the_whole_server(scene: Scene) -> None:
    for state, phase in STEPS if SLOW else STEPS[1::2]:
        live_through(scene, "everything", state, phase)
    scene.ledger.assert_all_is_free_again(scene.sandbox.tenant_id)


def test_many_allocations_outlive_kills_at_random_and_every_event_is_relayed_in_order(scene: Scene) -> None:
    sandbox, ledger = scene.sandbox, scene.ledger
    made: list[str] = []
    request = NewAllocation(sku="h100-slice", gpu_count=1, count=12)
    insist(lambda: made.extend(a.id for a in sandbox.admin.allocations.create(sandbox.project_id, request)))
    kill_at_random(scene, random.Random(1))
    for allocation_id in made:
        release(scene, allocation_id)
    kill_at_random(scene, random.Random(2))
    for allocation_id in made:
        ledger.wait_for_step(allocation_id, "released", None)
        ledger.assert_lived_once(allocation_id)
    ledger.assert_nothing_is_held_twice()
    ledger.assert_all_is_free_again(sandbox.tenant_id)
    happened = [row["id"] for row in ledger.rows("SELECT id FROM events ORDER BY transaction_id, sequence")]
    until(lambda: relayed(scene) == happened, "every event in the file, in order")


def kill_at_random(scene: Scene, chance: random.Random) -> None:
    victims = ["worker", "postgres", "agents", "api"] * (5 if SLOW else 1)
    chance.shuffle(victims)
    for victim in victims:
        time.sleep(chance.uniform(0.0, 0.6))
        scene.kill(victim)


def relayed(scene: Scene) -> list[str]:
    """The ids in the file; an event that was delivered again counts where it came first. Every line is whole."""
    return list(dict.fromkeys(json.loads(line)["id"] for line in scene.events_file.read_text().splitlines()))


def live_through(scene: Scene, victim: str, state: str, phase: str | None) -> None:
    sandbox, ledger = scene.sandbox, scene.ledger
    made = create(sandbox)
    if state == "releasing":
        release(scene, made)
    if state != "requested":  # which is over too soon to be waited for: kill at once
        ledger.wait_for_step(made, state, phase)
    scene.kill(victim)
    if state != "releasing":
        release(scene, made)
    ledger.wait_for_step(made, "released", None)
    ledger.assert_lived_once(made)
    ledger.assert_nothing_is_held_twice()


def create(sandbox: Sandbox) -> str:
    made: list[str] = []
    request = NewAllocation(sku="h100-node")
    insist(lambda: made.append(sandbox.admin.allocations.create(sandbox.project_id, request)[0].id))
    return made[0]


def release(scene: Scene, allocation_id: str) -> None:
    scene.ledger.wait_for_step(allocation_id, "active", None)
    insist(lambda: scene.sandbox.admin.allocations.release(scene.sandbox.project_id, allocation_id))


def test_a_creation_that_was_cut_off_and_repeated_makes_one_allocation(scene: Scene) -> None:
    sandbox, ledger = scene.sandbox, scene.ledger
    headers = {"Authorization": f"Bearer {sandbox.bearer('project_member')}"}
    path = f"{sandbox.server.url}/api/v1/projects/{sandbox.project_id}/allocations"
    for milliseconds in (0, 1, 3, 6, 10, 15, 20) if SLOW else (0, 4, 9):
        body = {"sku": "h100-slice", "gpu_count": 1, "name": f"cut-{milliseconds}"}
        keyed = headers | {"Idempotency-Key": f"cut-off-after-{milliseconds}-ms"}
        post = partial(post_once, path, body, keyed)
        sending = threading.Thread(target=post)
        sending.start()
        time.sleep(milliseconds / 1000)
        sandbox.server.kill("api")
        sending.join(60)
        made = until(post, "the answer to the repetition")
        rows = ledger.rows("SELECT id FROM allocations WHERE name = %s", body["name"])
        assert [row["id"] for row in rows] == [made]
        release(scene, made)
        ledger.wait_for_step(made, "released", None)
    ledger.assert_all_is_free_again(sandbox.tenant_id)


def post_once(path: str, body: dict[str, object], headers: dict[str, str]) -> str | None:
    """The id of what was made, or None when there was no answer, or one that says: not now."""
    try:
        answer = httpx.post(path, json=body, headers=headers, timeout=30)
    except httpx.TransportError:
        return None
    assert answer.status_code in (201, 409, 503), answer.text
    return str(answer.json()["items"][0]["id"]) if answer.status_code == 201 else None


def test_a_restart_of_the_database_under_load_is_survived_by_every_process(scene: Scene) -> None:
    sandbox, ledger = scene.sandbox, scene.ledger
    before = {name: sandbox.server.children(name) for name in ("api", "worker")}
    token = sandbox.bearer("project_member")
    stop, odd = threading.Event(), list[str]()

    def keep_asking(number: int) -> None:
        path = f"{sandbox.server.url}/api/v1/projects/{sandbox.project_id}/allocations"
        with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=30) as client:
            while not stop.is_set():
                answer = client.post(path, json={"sku": "h100-slice", "gpu_count": 1, "name": f"load-{number}"})
                if answer.status_code == 201:
                    made = answer.json()["items"][0]["id"]
                    answer = client.post(f"{path}/{made}/release", json={})
                if answer.status_code not in (200, 201, 409, 503):
                    odd.append(f"{answer.status_code} {answer.text}")

    load = [threading.Thread(target=keep_asking, args=(number,)) for number in range(4)]
    for thread in load:
        thread.start()
    for _ in range(2):
        time.sleep(1)
        sandbox.server.kill("postgres")
        ready(sandbox)
    time.sleep(1)
    stop.set()
    for thread in load:
        thread.join(60)
    assert odd == []
    assert {name: sandbox.server.children(name) for name in before} == before
    for row in ledger.rows("SELECT id, project_id FROM allocations WHERE ended_at IS NULL"):
        insist(partial(sandbox.admin.allocations.release, row["project_id"], row["id"]))
    until(lambda: not ledger.rows("SELECT 1 FROM allocations WHERE ended_at IS NULL"), "the end of every allocation")
    ledger.assert_nothing_is_held_twice()
    ledger.assert_all_is_free_again(sandbox.tenant_id)


def ready(sandbox: Sandbox) -> None:
    def look() -> bool:
        try:
            return httpx.get(f"{sandbox.server.url}/readyz", timeout=5).status_code == 200
        except httpx.TransportError:
            return False

    until(look, "readiness after the restart of the database")
