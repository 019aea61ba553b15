"""What the database itself says happened, past the API: for checks that must hold after anything was killed."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import psycopg
from psycopg.rows import dict_row

Row = dict[str, Any]
Found = TypeVar("Found")
LIFE = ["requested", "provisioning", "active", "releasing", "released"]


def until(look: Callable[[], Found | None], what: str, seconds: float = 60.0) -> Found:
    """Look until there is something, and hand it back."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.005)
    raise AssertionError(f"{what}: not within {seconds:.0f} s")


@dataclass
class Ledger:
    url: str

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Row]]:
        with psycopg.connect(self.url, autocommit=True, row_factory=dict_row) as connection:
            connection.execute("SELECT set_config('gpuaas.platform', 'on', false)")
            yield connection

    def rows(self, query: str, *values: object) -> list[Row]:
        """Asked again while the database is away: somebody may just have killed it."""

        def ask() -> list[list[Row]]:
            try:
                with self._connection() as connection:
                    return [connection.execute(query, values).fetchall()]
            except psycopg.OperationalError:
                return []

        return until(ask, "an answer of the database")[0]

    @contextmanager
    def lock(self, query: str, *values: object) -> Iterator[None]:
        """Hold the locks of the query until the block ends: whoever needs them waits in the middle of what it does."""
        with self._connection() as connection, connection.transaction():
            assert connection.execute(query, values).fetchall()
            yield

    def change(self, *statements: str) -> None:
        with self._connection() as connection:
            for statement in statements:
                connection.execute(statement)

    def step(self, allocation_id: str) -> tuple[str, str | None]:
        """The state, and the host task in flight."""
        (row,) = self.rows("SELECT state, phase FROM allocations WHERE id = %s", allocation_id)
        return row["state"], row["phase"]

    def wait_for_step(self, allocation_id: str, state: str, phase: str | None, seconds: float = 60.0) -> None:
        """In one connection, looking often: a step may be short."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                with self._connection() as connection:
                    while time.monotonic() < deadline:
                        row = connection.execute(
                            "SELECT state, phase FROM allocations WHERE id = %s", (allocation_id,)
                        ).fetchone()
                        if row == {"state": state, "phase": phase}:
                            return
                        time.sleep(0.005)
            except psycopg.OperationalError:
                time.sleep(0.02)
        raise AssertionError(f"{allocation_id} was not seen at {state}/{phase}, but at {self.step(allocation_id)}")

    def assert_lived_once(self, allocation_id: str) -> None:
        """From request to proven release, each step once, and nothing left behind."""
        (row,) = self.rows("SELECT * FROM allocations WHERE id = %s", allocation_id)
        assert row["state"] == "released"
        assert row["wipe_evidence"]["clean"] is True
        transitions = self.rows(
            "SELECT state FROM allocation_transitions WHERE allocation_id = %s ORDER BY generation", allocation_id
        )
        assert [t["state"] for t in transitions] == LIFE
        events = self.rows(
            "SELECT type FROM events WHERE subject = %s ORDER BY transaction_id, sequence", allocation_id
        )
        assert [e["type"] for e in events] == [f"allocation.{state}" for state in LIFE]
        self._assert_tasks_in_order(allocation_id)
        audited = self.rows("SELECT action FROM audit_records WHERE resource_id = %s ORDER BY id", allocation_id)
        assert audited[0]["action"] == "allocation_create"
        assert [a["action"] for a in audited].count("allocation_create") == 1
        live = self.rows(
            "SELECT 1 FROM allocation_resource_claims WHERE allocation_id = %s AND released_at IS NULL", allocation_id
        )
        assert live == []

    def _assert_tasks_in_order(self, allocation_id: str) -> None:
        tasks = self.rows("SELECT * FROM node_tasks WHERE resource_id = %s ORDER BY generation", allocation_id)
        assert [task["generation"] for task in tasks] == list(range(1, len(tasks) + 1))
        done = [task for task in tasks if task["status"] == "succeeded"]
        assert [task["kind"] for task in done] == ["provision", "deprovision", "wipe", "verify_wipe"]
        for earlier, later in pairwise(tasks):
            assert earlier["status"] != "pending"
            assert earlier["reported_at"] <= later["created_at"], (earlier["kind"], later["kind"])

    def assert_nothing_is_held_twice(self) -> None:
        doubled = self.rows(
            "SELECT s.id FROM node_resource_slots s JOIN allocation_resource_claims c ON c.node_id = s.node_id"
            " AND (c.slot_id = s.id OR c.kind = 'node_exclusive') WHERE c.released_at IS NULL GROUP BY s.id"
            " HAVING count(*) > 1"
        )
        assert doubled == []
        repeated = self.rows("SELECT id FROM events GROUP BY id HAVING count(*) > 1")
        assert repeated == []

    def assert_all_is_free_again(self, tenant_id: str) -> None:
        """No live claim, no quota used, no slot that is not available, no work row of an allocation left."""
        assert self.rows("SELECT 1 FROM allocation_resource_claims WHERE released_at IS NULL") == []
        used = self.rows("SELECT scope_id, gpus_used FROM quotas WHERE tenant_id = %s AND gpus_used <> 0", tenant_id)
        assert used == []
        assert self.rows("SELECT id, status FROM node_resource_slots WHERE status <> 'available'") == []
        until(lambda: not self.rows("SELECT 1 FROM work_items WHERE kind = 'allocation'"), "the end of all work")
