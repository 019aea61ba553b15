"""Claims as a state machine on real PostgreSQL: many schedulers at once, and after every batch everything still adds up.

A batch is a set of changes that start together: claims of slices, of whole nodes, of many at once, releases, cordons,
disabled slots, blocked slots. A model remembers what was granted; the database must agree with it.
"""

import asyncio
import os
import secrets
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from pydantic import SecretStr

from gpuaas_server.capacity import scheduler, service, skus
from gpuaas_server.capacity.scheduler import FreeSlot, NodeOffer
from gpuaas_server.capacity.schemas import SkuUpdate
from gpuaas_server.embedded import postgres
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support.capacity_checks import assert_consistent, rows
from tests_support.fleet import ACTOR, claim, give_back, make_fleet

SLOW = bool(os.environ.get("GPUAAS_TEST_SLOW"))
NODES = 3
REFUSALS = {"no_capacity", "capacity_fragmented", "capacity_blocked", "capacity_below_grade"}
RequestTerms = tuple[int, int, bool, bool]  # GPUs, how many of them, whether whole nodes, whether with a restart
requests = st.one_of(
    st.tuples(st.integers(1, 8), st.integers(1, 3), st.just(False), st.just(False)),  # slices, some of them in bulk
    st.tuples(st.just(8), st.integers(1, 2), st.just(True), st.booleans()),  # whole nodes
)
batches = st.lists(requests, min_size=4, max_size=12)


class Databases:
    """One fresh database after the other, for the examples of one test."""

    def __init__(self, server: postgres.EmbeddedPostgres, template: str) -> None:
        self._server = server
        self._template = template

    def create(self) -> str:
        name = f"m_{secrets.token_hex(6)}"
        self._admin(f"CREATE DATABASE {name} TEMPLATE {self._template} OWNER {postgres.ROLE}")
        return name

    def url(self, name: str) -> str:
        return self._server.url_of(postgres.ROLE, name)

    def drop(self, name: str) -> None:
        self._admin(f"DROP DATABASE {name} WITH (FORCE)")

    def _admin(self, statement: str) -> None:
        with psycopg.connect(self._server.superuser_url, autocommit=True) as connection:
            connection.execute(statement)


class ClaimsMachine(RuleBasedStateMachine):
    databases: Databases  # given by the fixture below

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.name = self.databases.create()
        self.scratch = tempfile.TemporaryDirectory()
        self.platform: Platform = self.loop.run(self._open())
        self.claimed: dict[str, int] = {}  # allocation → GPUs
        self.blocked: set[str] = set()
        self.cordoned: set[str] = set()
        self.disabled: set[str] = set()
        self.restarting: set[str] = set()  # the nodes whose agents can prove a restart

    async def _open(self) -> Platform:
        url = SecretStr(self.databases.url(self.name))
        options = Settings(data_dir=Path(self.scratch.name), database_url=url, pool_size=12)
        return await self.stack.enter_async_context(running_platform(options))

    def teardown(self) -> None:
        self.loop.run(self.stack.aclose())
        self.loop.close()
        self.scratch.cleanup()
        self.databases.drop(self.name)

    @initialize()
    def build(self) -> None:
        self.fleet = self.loop.run(make_fleet(self.platform, NODES))

    # Changes

    @rule(batch=batches, releases=st.integers(0, 4))
    def many_schedulers_at_once(self, batch: list[RequestTerms], releases: int) -> None:
        self.loop.run(self._race(batch, releases))

    async def _race(self, batch: list[RequestTerms], releases: int) -> None:
        leaving = [a for a in sorted(self.claimed) if a not in self.blocked][:releases]
        gone = [give_back(self.platform, a, self.claimed.pop(a)) for a in leaving]
        asking = [self._ask(*terms) for terms in batch]
        await asyncio.gather(*asking, *gone)

    async def _ask(self, size: int, count: int, whole: bool, restarted: bool) -> None:
        try:
            placed = await claim(self.platform, self.fleet.request(size, count, whole, restarted))
        except Problem as refused:
            assert refused.code in REFUSALS, refused
            return
        assert len(placed) == count
        self.claimed.update({allocation: size for allocation, _ in placed})

    @rule(index=st.integers(0, NODES - 1), batch=batches)
    def cordon_or_uncordon_amid_claims(self, index: int, batch: list[RequestTerms]) -> None:
        node_id = self.fleet.nodes[index]
        self.cordoned ^= {node_id}
        eligible = node_id not in self.cordoned
        change = self._change(lambda tx: service.node_eligibility_set(tx, node_id, eligible))
        self.loop.run(self._together(change, batch))

    @rule(index=st.integers(0, NODES - 1), batch=batches)
    def exchange_an_agent_amid_claims(self, index: int, batch: list[RequestTerms]) -> None:
        node_id = self.fleet.nodes[index]
        self.restarting ^= {node_id}
        grade = "rebooted" if node_id in self.restarting else "inspected"
        change = self._change(lambda tx: service.node_wipe_grade_set(tx, node_id, grade))
        self.loop.run(self._together(change, batch))

    @rule(index=st.integers(0, NODES * 8 - 1), batch=batches)
    def disable_or_enable_a_slot_amid_claims(self, index: int, batch: list[RequestTerms]) -> None:
        self.loop.run(self._together(self._toggle(index), batch))

    async def _toggle(self, index: int) -> None:
        slots = await rows(self.platform, "SELECT id, status FROM node_resource_slots ORDER BY node_id, slot_index")
        slot_id = str(slots[index]["id"])
        try:
            if slots[index]["status"] == "disabled":
                await self._change(lambda tx: service.slot_enable(tx, slot_id))
                self.disabled.discard(slot_id)
            else:
                await self._change(lambda tx: service.slot_disable(tx, slot_id, "somebody says so"))
                self.disabled.add(slot_id)
        except Problem as refused:
            assert refused.code == "conflict", refused  # it is claimed, or was claimed a moment ago

    @rule(batch=batches)
    def edit_a_sku_amid_claims(self, batch: list[RequestTerms]) -> None:
        """It refits every node of the model, while others take them."""
        sku_id, body = self.fleet.slice_sku.id, SkuUpdate(price_per_gpu_hour_minor=len(batch))
        change = self._change(lambda tx: skus.sku_update(tx, sku_id, body, lambda _: None))
        self.loop.run(self._together(change, batch))

    @rule(choice=st.integers(0, 99), proven=st.booleans())
    def block_or_prove_a_cleanup(self, choice: int, proven: bool) -> None:
        if not self.claimed:
            return
        allocation = sorted(self.claimed)[choice % len(self.claimed)]
        status = "cleaning" if proven else "cleanup_blocked"
        (self.blocked.discard if proven else self.blocked.add)(allocation)
        self.loop.run(self._change(lambda tx: service.slots_mark(tx, allocation, status, "as the model says")))

    async def _together(self, change: Awaitable[object], batch: list[RequestTerms]) -> None:
        await asyncio.gather(change, *(self._ask(*terms) for terms in batch))

    async def _change(self, verb: Callable[[Tx], Awaitable[object]]) -> None:
        async with self.platform.transaction(PLATFORM, ACTOR) as tx:
            await verb(tx)

    # What must hold whenever nobody is at work

    @invariant()
    def slots_claims_quota_and_index_agree(self) -> None:
        self.loop.run(assert_consistent(self.platform))

    @invariant()
    def exactly_what_was_granted_is_claimed(self) -> None:
        claimed = self.loop.run(
            rows(
                self.platform,
                "SELECT c.allocation_id, count(*) AS gpus FROM allocation_resource_claims c JOIN node_resource_slots s"
                " ON s.node_id = c.node_id AND (c.slot_id = s.id OR c.kind = 'node_exclusive')"
                " WHERE c.released_at IS NULL GROUP BY c.allocation_id",
            )
        )
        assert {row["allocation_id"]: row["gpus"] for row in claimed} == self.claimed

    @invariant()
    def what_fits_is_granted_and_what_does_not_is_refused(self) -> None:
        """With nobody else asking, the database decides as the pure scheduler does."""
        for size, whole, restarted in ((1, False, False), (3, False, False), (8, True, False), (8, True, True)):
            fits = scheduler.place(self.loop.run(self._offers(whole, restarted)), size, 1) is not None
            granted = self.loop.run(self._try(size, whole, restarted))
            assert granted == fits, (size, whole, restarted)

    async def _offers(self, whole: bool, restarted: bool) -> list[NodeOffer]:
        slots = await rows(self.platform, "SELECT * FROM node_resource_slots ORDER BY node_id, slot_index")
        offers = []
        for node_id in self.fleet.nodes:
            own = [slot for slot in slots if slot["node_id"] == node_id]
            free = [slot for slot in own if slot["status"] == "available"]
            suits = (not whole or len(free) == len(own)) and (not restarted or node_id in self.restarting)
            if node_id not in self.cordoned and suits:
                offers.append(
                    NodeOffer(node_id, tuple(FreeSlot(str(s["id"]), s["slot_index"], None, None) for s in free))
                )
        return offers

    async def _try(self, size: int, whole: bool, restarted: bool) -> bool:
        try:
            placed = await claim(self.platform, self.fleet.request(size, 1, whole, restarted))
        except Problem:
            return False
        await give_back(self.platform, placed[0][0], size)
        return True


@pytest.fixture
def machine(postgres_server: postgres.EmbeddedPostgres, template_database: str) -> type[ClaimsMachine]:
    ClaimsMachine.databases = Databases(postgres_server, template_database)
    return ClaimsMachine


def test_no_history_of_concurrent_claims_gives_a_slot_to_two(machine: type[ClaimsMachine]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=150 if SLOW else 10,
            stateful_step_count=40 if SLOW else 10,
            deadline=None,
            derandomize=not SLOW,
            database=None,
            phases=[Phase.generate],  # a race does not shrink
            suppress_health_check=list(HealthCheck),
        ),
    )
