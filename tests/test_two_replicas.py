"""Two of everything on one database: work is shared, waits wake across, keys are one key, and one may die."""

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import httpx
import psycopg
import pytest

from gpuaas_sdk import Client, NewAllocation, PasswordCredentials
from gpuaas_sdk.testing import Sandbox
from system_support.ledger import Ledger, until
from system_support.server import RunningServer

# Leases of a replica that dies are taken over soon; waits are longer than any deadline here, so only a wake-up ends them.
SHORT = {"work_lease_seconds": "2", "login_rate_per_minute": "100000"}
LONG_WAIT = 60
FROZEN_ROUNDS = 12


@dataclass
class Pair:
    sandbox: Sandbox  # on the first
    first: RunningServer
    second: RunningServer
    ledger: Ledger

    def both(self) -> tuple[RunningServer, RunningServer]:
        return self.first, self.second

    def end(self, *allocation_ids: str) -> None:
        for allocation_id in allocation_ids:
            self.ledger.wait_for_step(allocation_id, "active", None)
            self.sandbox.admin.allocations.release(self.sandbox.project_id, allocation_id)
        for allocation_id in allocation_ids:
            self.ledger.wait_for_step(allocation_id, "released", None)


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with RunningServer.start(**SHORT) as first, RunningServer.replica_of(first, **SHORT) as second:
        for server in (first, second):  # ready is an api; a worker loads behind it, and is not missed by anybody else
            at_work = server.directory / "var" / "worker-metrics.address"
            until(at_work.exists, "both workers")
        sandbox = Sandbox.create(first)
        sandbox.offer()
        # The agents speak to the second one only; what the first one is asked reaches them all the same.
        with sandbox.simulated_fleet(4, "--url", second.url):
            yield Pair(sandbox, first, second, Ledger(first.database_url()))


def test_both_workers_take_part_and_no_step_is_done_twice(pair: Pair) -> None:
    pair.ledger.change(
        "CREATE TABLE seen_owners (owner text)",
        "CREATE FUNCTION note_owner() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN INSERT INTO seen_owners VALUES (NEW.leased_by); RETURN NEW; END $$",
        "CREATE TRIGGER note_owner AFTER UPDATE OF leased_by ON work_items FOR EACH ROW"
        " WHEN (NEW.leased_by IS NOT NULL) EXECUTE FUNCTION note_owner()",
    )
    clients = [server.admin() for server in pair.both()]
    request = NewAllocation(sku="h100-slice", gpu_count=1, count=16)
    made = [a.id for client in clients for a in client.allocations.create(pair.sandbox.project_id, request)]
    pair.end(*made)
    for allocation_id in made:
        pair.ledger.assert_lived_once(allocation_id)
    pair.ledger.assert_all_is_free_again(pair.sandbox.tenant_id)
    owners = pair.ledger.rows("SELECT DISTINCT split_part(owner, ':', 2) AS pid FROM seen_owners")
    workers = {str(pid) for server in pair.both() for pid in server.children("worker")}
    assert {row["pid"] for row in owners} == workers


def test_a_wait_on_one_replica_ends_with_an_event_of_the_other(pair: Pair) -> None:
    for here, there in (pair.both(), pair.both()[::-1]):
        with ThreadPoolExecutor(1) as pool, httpx.Client(base_url=f"{here.url}/api/v1", timeout=LONG_WAIT + 10) as http:
            http.headers["Authorization"] = f"Bearer {pair.sandbox.bearer('project_viewer')}"
            path = f"/projects/{pair.sandbox.project_id}/events"
            cursor = http.get(path, params={"tail": 0}).json()["next_cursor"]
            waiting = pool.submit(http.get, path, params={"after": cursor, "wait": LONG_WAIT})
            there.admin().projects.update(pair.sandbox.project_id, name="Renamed")
            events = waiting.result(LONG_WAIT / 2).json()["items"]
        assert [event["type"] for event in events] == ["project.updated"]


def test_the_same_key_on_both_replicas_at_once_makes_one_allocation(pair: Pair) -> None:
    headers = {"Authorization": f"Bearer {pair.sandbox.bearer('project_member')}"}
    gate = threading.Barrier(4)
    made: list[str] = []

    def post(server: RunningServer, number: int) -> httpx.Response:
        path = f"{server.url}/api/v1/projects/{pair.sandbox.project_id}/allocations"
        body = {"sku": "h100-slice", "gpu_count": 1, "name": f"once-{number}"}
        gate.wait(30)
        return httpx.post(path, json=body, headers=headers | {"Idempotency-Key": f"once-{number:04d}"}, timeout=30)

    with ThreadPoolExecutor(4) as pool:
        for number in range(12):
            answers = list(pool.map(post, pair.both() * 2, [number] * 4))
            assert {answer.status_code for answer in answers} <= {201, 409}
            ids = {answer.json()["items"][0]["id"] for answer in answers if answer.status_code == 201}
            rows = pair.ledger.rows("SELECT id FROM allocations WHERE name = %s", f"once-{number}")
            assert [row["id"] for row in rows] == list(ids)
            made += ids
    pair.end(*made)


def test_a_frozen_replica_does_not_do_later_what_the_other_refused_under_the_same_key(pair: Pair) -> None:
    """Frozen at a random moment of its attempt; while it is, the quota is gone, so that the other replica refuses."""
    headers = {"Authorization": f"Bearer {pair.sandbox.bearer('project_member')}"}
    [api] = pair.first.children("api")
    made: list[str] = []
    for number in range(FROZEN_ROUNDS):
        body = {"sku": "h100-slice", "gpu_count": 1, "name": f"frozen-{number}"}
        keyed = headers | {"Idempotency-Key": f"frozen-{number:04d}"}
        posts = [partial(post_allocation, server.url, pair.sandbox.project_id, body, keyed) for server in pair.both()]
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(posts[0])
            time.sleep(random.uniform(0, 0.03))
            os.kill(api, signal.SIGSTOP)
            try:
                set_gpu_limit(pair, 0)
                second = posts[1]()
                set_gpu_limit(pair, 1000)
            finally:
                os.kill(api, signal.SIGCONT)
            answers = [first.result(60), second, *(post() for post in posts)]
        told = {(answer.status_code, answer.content) for answer in answers if is_answer(answer)}
        rows = pair.ledger.rows("SELECT id FROM allocations WHERE name = %s", body["name"])
        assert len(told) == 1, told
        assert len(rows) == (1 if next(iter(told))[:1] == (201,) else 0), told
        made += [row["id"] for row in rows]
    pair.end(*made)


def post_allocation(url: str, project_id: str, body: dict[str, object], headers: dict[str, str]) -> httpx.Response:
    return httpx.post(f"{url}/api/v1/projects/{project_id}/allocations", json=body, headers=headers, timeout=60)


def is_answer(answer: httpx.Response) -> bool:
    assert answer.status_code in (201, 409, 503), answer.text
    return answer.status_code == 201 or answer.json()["code"] == "quota_exceeded"


def set_gpu_limit(pair: Pair, limit: int) -> None:
    """Unless the frozen attempt has the row locked: then it is past every refusal, and holds its key."""
    with suppress(psycopg.errors.LockNotAvailable):
        pair.ledger.change("SET lock_timeout = '100ms'", f"UPDATE quotas SET gpu_limit = {limit}")


def test_a_token_of_one_replica_is_good_on_the_other_and_ends_on_both(pair: Pair) -> None:
    email, password = "leaving@example.test", "a-long-phrase-for-leaving"
    user = pair.sandbox.admin.users.create(pair.sandbox.tenant_id, email, "Leaving", password=password)
    token = Client(pair.first.url).sign_in(PasswordCredentials(email, password)).access_token
    headers = {"Authorization": f"Bearer {token}"}
    me = [httpx.get(f"{server.url}/api/v1/me", headers=headers, timeout=60).status_code for server in pair.both()]
    assert me == [200, 200]
    pair.second.admin().users.update(pair.sandbox.tenant_id, user.id, disabled=True)
    for server in pair.both():
        until(partial(is_refused, f"{server.url}/api/v1/me", headers), "the end of the token")


def is_refused(path: str, headers: dict[str, str]) -> bool:
    return httpx.get(path, headers=headers, timeout=60).status_code in (401, 403)


def test_one_replica_finishes_what_the_other_had_begun_when_it_died(pair: Pair) -> None:
    sandbox, ledger = pair.sandbox, pair.ledger
    with sandbox.simulated_fleet(1, "--delay-ms", "300", first_index=50) as nodes:
        for node in sandbox.admin.nodes.list():
            if node.id != nodes[0].id and not node.cordoned and node.status != "retired":
                sandbox.admin.nodes.cordon(node.id, "its agents speak to the replica that dies")
        made = pair.second.admin().allocations.create(sandbox.project_id, NewAllocation(sku="h100-node"))[0].id
        ledger.wait_for_step(made, "provisioning", "provision")
        os.kill(pair.second.process.pid, signal.SIGKILL)
        pair.second.process.wait(60)
        try:
            pair.end(made)
        finally:
            pair.second.restart()
        ledger.assert_lived_once(made)
        ledger.assert_all_is_free_again(sandbox.tenant_id)
