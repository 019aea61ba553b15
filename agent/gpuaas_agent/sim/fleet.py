"""A fleet of simulated nodes as an async context manager."""

from __future__ import annotations

import asyncio
import contextlib
import random
import resource
from collections.abc import Mapping, Sequence
from types import TracebackType

from gpuaas_agent import identity, log
from gpuaas_agent.sim.http import Connection, Target
from gpuaas_agent.sim.node import Behaviour, OnTask, SimNode
from gpuaas_agent.wire import Refused

_REPORT_CONNECTIONS = 64
# Enrolment is usually faster; after this time a log line says what the fleet waits for.
QUIET_SECONDS = 2.0


class SimFleet:
    """`async with SimFleet(url, bundle, nodes=1000) as fleet:` — inside the block, every node is enrolled.

    Give one bundle for all nodes (a token with enough uses), or one bundle per node.
    Without `base_url` the first URL of the bundle is used.
    """

    def __init__(
        self,
        base_url: str | None,
        bundle: str | Sequence[str],
        *,
        nodes: int,
        gpus: int = 8,
        on_task: OnTask | None = None,
        delay_seconds: float = 0.0,
        fail_rates: Mapping[str, float] | None = None,
        host_certificates: bool = False,
        enrol_at_once: int = 32,
        first_index: int = 0,
        seed: int = 1,
        key_seed: str | None = None,
    ) -> None:
        bundles = [bundle] if isinstance(bundle, str) else list(bundle)
        self._bundles = [identity.parse_bundle(text) for text in bundles]
        self._base_url = base_url
        self._count = nodes
        self._gpus = gpus
        self._first_index = first_index
        self._key_seed = key_seed
        self._gate = asyncio.Semaphore(enrol_at_once)
        self._behaviour = Behaviour(
            delay_seconds,
            dict(fail_rates or {}),
            random.Random(seed),
            on_task,
            host_certificates,
        )
        self.nodes: list[SimNode] = []
        self._lives: list[asyncio.Task[None]] = []
        self._connections: list[Connection] = []

    async def __aenter__(self) -> SimFleet:
        waiting = asyncio.create_task(self._log_wait())
        try:
            return await self._enter()
        finally:
            waiting.cancel()

    async def _enter(self) -> SimFleet:
        raise_file_limit(self._count + 1024)
        target = await self._target()
        reports = [self._connection(target) for _ in range(min(_REPORT_CONNECTIONS, self._count))]
        for position in range(self._count):
            node = SimNode(
                self._first_index + position,
                self._gpus,
                self._behaviour,
                self._connection(target),
                reports,
                self._key_seed,
            )
            self.nodes.append(node)
            token = self._bundles[position % len(self._bundles)].token
            self._lives.append(asyncio.create_task(self._live(node, token)))
        try:
            await self._all_ready()
        except BaseException:
            await self.aclose()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        for life in self._lives:
            life.cancel()
        with contextlib.suppress(BaseException):
            await asyncio.gather(*self._lives, return_exceptions=True)
        for connection in self._connections:
            connection.close()

    async def _live(self, node: SimNode, token: str) -> None:
        """Enrol a node, a limited number at a time, and then poll for it."""
        async with self._gate:
            await node.enter(token)
        try:
            await node.poll_forever()
        except Refused as refusal:
            log.error("sim_node_refused", node_id=node.node_id, code=refusal.code)
            raise

    async def _all_ready(self) -> None:
        """Wait until all nodes are ready; the error of a node that cannot enrol ends the wait."""
        for node, life in zip(self.nodes, self._lives, strict=True):
            ready = asyncio.create_task(node.ready.wait())
            await asyncio.wait({ready, life}, return_when=asyncio.FIRST_COMPLETED)
            ready.cancel()
            if life.done():
                life.result()
                raise identity.EnrolmentFailed("a simulated node ended before it was ready")

    async def _log_wait(self) -> None:
        """Log at growing intervals that the fleet still waits: an unreachable server is retried without end."""
        pause = QUIET_SECONDS
        while True:
            await asyncio.sleep(pause)
            pause = min(pause * 2, 30.0)
            ready = sum(node.ready.is_set() for node in self.nodes)
            trouble = next((node.trouble for node in self.nodes if node.trouble), "")
            url = self._base_url or self._bundles[0].urls[0]
            log.warning("fleet_not_ready", url=url, ready=ready, nodes=self._count, trouble=trouble)

    async def _target(self) -> Target:
        bundle = self._bundles[0]
        ca_pem = await asyncio.to_thread(identity.fetch_pinned_ca, bundle)
        return Target.of(self._base_url or bundle.urls[0], ca_pem)

    def _connection(self, target: Target) -> Connection:
        connection = Connection(target)
        self._connections.append(connection)
        return connection


def raise_file_limit(wanted: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft >= wanted:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, max(hard, wanted)))
    except (ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
