"""One simulated node: its own key, its own generations, the same protocol as a real agent."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_agent import __version__, phases, protocol, signing, specs, tasks
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import inspection
from gpuaas_agent.identity import HostFacts, Trust, enrol_request
from gpuaas_agent.node_key import KeyLife, life_from_answer, rotate_request
from gpuaas_agent.protocol import Envelope, Failure, Phase, Result, SignedTask
from gpuaas_agent.sim.http import Connection
from gpuaas_agent.sim.inventory import make_address, make_inventory
from gpuaas_agent.wire import API, Clock, Refused, Unreachable

HEARTBEAT_SECONDS = 60.0
_HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43
_CHECKS = (
    *("marker", "files", "users", "processes", "ports"),
    *("authorized_keys", "crontabs", "mounts", "units"),
)


@dataclass(frozen=True)
class TaskReceipt:
    """A task as a simulated node got it; `received_at` is Unix time, for benchmarks."""

    node_index: int
    node_id: str
    envelope: Envelope
    received_at: float


OnTask = Callable[[TaskReceipt], Result | None]


@dataclass(frozen=True)
class Behaviour:
    """How the simulated hosts act: how long a task takes, and how often each kind fails."""

    delay_seconds: float = 0.0
    fail_rates: dict[str, float] = field(default_factory=dict)
    dice: random.Random = field(default_factory=lambda: random.Random(1))
    on_task: OnTask | None = None
    host_certificates: bool = False


def _key_of(seed: str | None, index: int) -> Ed25519PrivateKey:
    """With a seed, a node that starts again has the key it had before, and is the same node to the platform."""
    if seed is None:
        return Ed25519PrivateKey.generate()
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(f"{seed}/{index}".encode()).digest())


class SimNode:
    def __init__(
        self,
        index: int,
        gpus: int,
        behaviour: Behaviour,
        poll: Connection,
        reports: list[Connection],
        key_seed: str | None = None,
    ) -> None:
        self.index = index
        self.node_id = "-"
        self.ready = asyncio.Event()
        self._gpus = gpus
        self._behaviour = behaviour
        self._poll = poll
        self._reports = reports
        self._key = _key_of(key_seed, index)
        self._keeps_key = key_seed is not None  # a key from a seed stays, so that the node is known after a restart
        self._key_life = KeyLife()
        self._next_key: Ed25519PrivateKey | None = None
        self._clock = Clock()
        self._trust = Trust({}, [], [])
        self._generations: dict[str, int] = {}
        self._in_hand: set[str] = set()
        self._running: set[asyncio.Task[None]] = set()
        self._wait = 30
        self.trouble = ""  # why it does not get through at the moment

    async def enter(self, token: str) -> None:
        await self._insist(lambda: self._enrol(token))
        await self._insist(self._introduce)
        self.ready.set()

    async def poll_for_ever(self) -> None:
        said = time.monotonic() + self._behaviour.dice.uniform(0, HEARTBEAT_SECONDS)
        while True:
            if time.monotonic() - said > HEARTBEAT_SECONDS:
                await self._insist(self._heartbeat)
                await self._insist(self.renew_key)
                said = time.monotonic()
            await self._insist(self._poll_once)

    async def _insist(self, action: Callable[[], Awaitable[object]]) -> None:
        pause = 0.2
        while True:
            try:
                await action()
                self.trouble = ""
                return
            except Unreachable as problem:
                self.trouble = str(problem) or "the server cannot be reached"
            except Refused as refusal:
                if not refusal.retryable and refusal.code != "agent_clock_skew":
                    raise
            await asyncio.sleep(pause * self._behaviour.dice.uniform(0.5, 1.0))
            pause = min(pause * 2, 30.0)

    async def _enrol(self, token: str) -> None:
        facts = HostFacts(f"sim-{self.index:05d}", make_address(self.index), _HOST_KEY)
        answer = await self._call("POST", "/enrol", enrol_request(token, self._key, facts))
        self.node_id = str(answer["node_id"])
        self._trust = Trust.from_answer(answer)
        self._key_life = life_from_answer(answer, self._clock.now())
        wait = answer.get("poll_wait_seconds")
        self._wait = wait if isinstance(wait, int) and 0 < wait <= 60 else 30

    async def renew_key(self) -> None:
        """Like a real agent, but for the disk."""
        if self._keeps_key or not self._key_life.is_due(self._clock.now()):
            return
        self._next_key = self._next_key or Ed25519PrivateKey.generate()  # the same again, when an answer was lost
        answer = await self._call("POST", "/key", rotate_request(self._next_key, self.node_id))
        self._key, self._next_key = self._next_key, None
        self._key_life = life_from_answer(answer, self._clock.now())

    async def _introduce(self) -> None:
        await self._heartbeat()
        await self._call("POST", "/inventory", make_inventory(self.index, self._gpus))

    async def _heartbeat(self) -> None:
        answer = await self._call(
            "POST",
            "/heartbeat",
            {
                "agent_version": __version__,
                "boot_id": f"00000000-0000-4000-8000-{self.index:012d}",
                "address": make_address(self.index),
                "ssh_host_public_key": _HOST_KEY,
                "allocations": [],
                "tls_anchors": self._poll.target.anchors.digests,
            },
        )
        self._poll.target.learn(answer, self._trust.task_keys)
        self._trust = Trust.from_answer(answer)

    async def _poll_once(self) -> None:
        have = f"&have={','.join(sorted(self._in_hand))}" if self._in_hand else ""
        answer = await self._call("GET", f"/tasks?wait={self._wait}{have}")
        received_at = time.time()
        offered = answer.get("tasks")
        for entry in offered if isinstance(offered, list) else []:
            task = SignedTask(entry["envelope"], entry["kid"], entry["signature"])
            if task.kid not in self._trust.task_keys:
                await self._heartbeat()
            envelope = signing.verify_task(task, self._trust.task_keys, self.node_id)
            if envelope.task_id not in self._in_hand:
                self._in_hand.add(envelope.task_id)
                receipt = TaskReceipt(self.index, self.node_id, envelope, received_at)
                work = asyncio.create_task(self._work(receipt))
                self._running.add(work)
                work.add_done_callback(self._running.discard)

    async def _work(self, receipt: TaskReceipt) -> None:
        envelope = receipt.envelope
        started = protocol.timestamp()
        chosen = self._behaviour.on_task(receipt) if self._behaviour.on_task else None
        if self._behaviour.delay_seconds:
            await asyncio.sleep(self._behaviour.delay_seconds)
        result = chosen or await self._outcome(envelope, started)
        connection = self._reports[self.index % len(self._reports)]
        path = f"/tasks/{envelope.task_id}/result"
        try:
            await self._insist(lambda: self._call("POST", path, result.wire(), connection))
        except Refused:
            pass  # the server does not want it any more
        finally:
            self._in_hand.discard(envelope.task_id)

    async def _outcome(self, envelope: Envelope, started: str) -> Result:
        highest = self._generations.get(envelope.resource_id, -1)
        if envelope.generation < highest:
            return tasks.stale_generation(envelope.generation, highest)
        self._generations[envelope.resource_id] = envelope.generation
        rate = self._behaviour.fail_rates.get(envelope.kind, 0.0)
        failed = self._behaviour.dice.random() < rate
        phase = Phase("simulated", "failed" if failed else "succeeded", started, protocol.timestamp())
        if failed:
            failure = Failure("simulated_failure", "This node was told to fail", "Retry.", True)
            return Result(envelope.generation, "failed", [phase], failure=failure)
        if envelope.kind == "provision" and self._behaviour.host_certificates:
            await self._certify(envelope)
        try:
            return Result(envelope.generation, "succeeded", [phase], self._answer_to(envelope))
        except TaskFailure as problem:
            return Result(envelope.generation, "failed", [phase], failure=phases.failure_of(problem))

    async def _certify(self, envelope: Envelope) -> None:
        body = {
            "allocation_id": envelope.spec["allocation_id"],
            "public_key": _HOST_KEY,
            "address": make_address(self.index),
        }
        connection = self._reports[self.index % len(self._reports)]
        await self._call("POST", "/host-certificates", body, connection)

    def _answer_to(self, envelope: Envelope) -> dict[str, object]:
        spec = envelope.spec
        if envelope.kind == "provision":
            address = make_address(self.index)
            return {"ssh": {"address": address, "port": 22, "user": spec.get("login_user")}}
        if envelope.kind == "discover":
            return {"inventory": make_inventory(self.index, self._gpus)}
        if envelope.kind == "wipe":
            return {"removed": 0, "restored": 0}
        if envelope.kind == "verify_wipe":
            names = [*_CHECKS, "slice"] if spec.get("shape") == "gpu_slice" else [*_CHECKS]
            checks = [{"name": n, "clean": True, "found": [], "examined": 1} for n in names]
            return {"clean": True, "checks": checks}
        if envelope.kind == "terminal":
            raise TaskFailure(
                "terminal_not_offered",
                "A simulated host has no shell",
                "Allocate on a real host, or on one of the lab.",
            )
        if envelope.kind == "inspect":
            asked = specs.parse_inspect(spec)
            return {**asked.echo(), **inspection.wire(inspection.nothing_found(asked), 1)}
        return {}

    async def _call(
        self, method: str, path: str, payload: object = None, connection: Connection | None = None
    ) -> dict[str, object]:
        body = b"" if payload is None else json.dumps(payload, separators=(",", ":")).encode()
        connection = connection or self._poll
        async with connection.lock:
            signed = signing.authorization(self._key, self.node_id, method, API + path, body, self._clock.now_ms())
            try:
                return await connection.call(method, API + path, body, signed, self._wait + 30.0)
            except Refused as refusal:
                server_time = refusal.details.get("server_time_ms")
                if refusal.code == "agent_clock_skew" and isinstance(server_time, int):
                    self._clock.correct(server_time)
                raise
