"""One simulated node, with its own key and generations; it speaks the protocol of a real agent."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_agent import __version__, phases, protocol, signatures, specs, tasks
from gpuaas_agent.claims import NOT_UNDERSTOOD
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import inspection
from gpuaas_agent.identity import HostFacts, Trust, enrol_request
from gpuaas_agent.logs.spec import LogSpec, parse_logs
from gpuaas_agent.node_key import KeyLife, life_from_answer, rotate_request
from gpuaas_agent.probes.spec import parse_probes
from gpuaas_agent.protocol import Envelope, Failure, Phase, Result, SignedTask
from gpuaas_agent.sim import sim_lines
from gpuaas_agent.sim.answers import SimHost
from gpuaas_agent.sim.http import Connection
from gpuaas_agent.sim.inventory import make_address, make_inventory, make_other_address
from gpuaas_agent.wire import API, Clock, Refused, Unreachable

HEARTBEAT_SECONDS = 60.0
_HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "A" * 43


@dataclass(frozen=True)
class TaskReceipt:
    """A task that a simulated node received; `received_at` is Unix time, for benchmarks."""

    node_index: int
    node_id: str
    envelope: Envelope
    received_at: float


OnTask = Callable[[TaskReceipt], Result | None]


@dataclass(frozen=True)
class Behaviour:
    """The behaviour of simulated hosts: how long a task takes, and how often each kind fails."""

    delay_seconds: float = 0.0
    fail_rates: dict[str, float] = field(default_factory=dict)
    dice: random.Random = field(default_factory=lambda: random.Random(1))
    on_task: OnTask | None = None
    host_certificates: bool = False
    probe_status: tuple[str, str] = ("passing", "HTTP 200")  # what the probes of all members say


def _key_of(seed: str | None, index: int, generation: int = 1) -> Ed25519PrivateKey:
    """Return a key. With a seed, a restarted node has its earlier keys, so that the platform sees the same node."""
    if seed is None:
        return Ed25519PrivateKey.generate()
    place = f"{seed}/{index}" if generation == 1 else f"{seed}/{index}/{generation}"
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(place.encode()).digest())


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
        self.address = make_address(index)
        self.node_id = "-"
        self.ready = asyncio.Event()
        self._gpus = gpus
        self._behaviour = behaviour
        self._poll = poll
        self._reports = reports
        self._key = _key_of(key_seed, index)
        self._seed = key_seed
        self._generation = 1
        self._rotating = asyncio.Lock()
        self._key_life = KeyLife()
        self._next_key: Ed25519PrivateKey | None = None
        self._clock = Clock()
        self._trust = Trust({}, [], [])
        self._generations: dict[str, int] = {}
        self._accepted: set[str] = set()
        self._running: set[asyncio.Task[None]] = set()
        self._wait = 30
        self._host = SimHost(index)
        self._claims_wanted = True
        self.trouble = ""  # why the server cannot be reached now

    async def enter(self, token: str) -> None:
        await self._retry_until_answered(lambda: self._enrol(token))
        await self._retry_until_answered(self._start_up)
        self.ready.set()

    async def poll_forever(self) -> None:
        sent = time.monotonic() + self._behaviour.dice.uniform(0, HEARTBEAT_SECONDS)
        while True:
            if time.monotonic() - sent > HEARTBEAT_SECONDS:
                await self._retry_until_answered(self._heartbeat)
                await self._retry_until_answered(self.renew_key)
                sent = time.monotonic()
            await self._retry_until_answered(self._poll_once)

    async def _retry_until_answered(self, action: Callable[[], Awaitable[object]]) -> None:
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
        answer = await self._ask_to_enrol(token)
        self.node_id = str(answer["node_id"])
        self._find_newest_key(answer.get("key_generation"))
        self._trust = Trust.from_answer(answer)
        self._key_life = life_from_answer(answer, self._clock.now())
        wait = answer.get("poll_wait_seconds")
        self._wait = wait if isinstance(wait, int) and 0 < wait <= 60 else 30

    async def _ask_to_enrol(self, token: str) -> dict[str, object]:
        """Enrol; if a node of an earlier fleet has the address, use another address."""
        facts = HostFacts(f"sim-{self.index:05d}", self.address, _HOST_KEY)
        try:
            return await self._call("POST", "/enrol", enrol_request(token, self._key, facts))
        except Refused as refusal:
            if refusal.code == "node_key_replaced":
                return await self._enrol_as_before(token, facts, refusal)
            if refusal.code != "address_taken":
                raise
        self.address = make_other_address(signatures.raw_public_key(self._key))
        facts = replace(facts, address=self.address)
        return await self._call("POST", "/enrol", enrol_request(token, self._key, facts))

    async def _enrol_as_before(self, token: str, facts: HostFacts, refusal: Refused) -> dict[str, object]:
        """Enrol after a restart from the seed: the refusal says which generation of the key is current."""
        if not self._find_newest_key(refusal.details.get("key_generation")):
            raise refusal
        return await self._call("POST", "/enrol", enrol_request(token, self._key, facts))

    def _find_newest_key(self, generation: object) -> bool:
        """Derive the newest key from the seed; a real agent has it on disk. Returns whether that was possible."""
        if self._seed is None or not isinstance(generation, int):
            return False
        self._generation, self._key = generation, _key_of(self._seed, self.index, generation)
        return True

    async def renew_key(self) -> None:
        """Renew the key like a real agent, but without a disk."""
        if self._key_life.is_due(self._clock.now()):
            await self._retry_until_answered(self.rotate_key)

    async def rotate_key(self) -> None:
        """Rotate the key. The platform refuses the old key as soon as it has the new one, so other calls wait. If an
        answer was lost, the new key is tried first: the platform may have it already.
        """
        async with self._rotating:
            begun = self._next_key is not None
            new = self._next_key or _key_of(self._seed, self.index, self._generation + 1)
            self._next_key = new
            body = rotate_request(new, self.node_id)
            try:
                answer = await self._send("POST", "/key", body, self._reporting, new if begun else self._key)
            except Refused as refusal:
                if not begun or refusal.code not in ("agent_signature_invalid", "node_key_replaced"):
                    raise
                answer = await self._send("POST", "/key", body, self._reporting, self._key)
            self._key, self._next_key = new, None
            self._generation += 1
            self._key_life = life_from_answer(answer, self._clock.now())

    async def _start_up(self) -> None:
        await self._heartbeat()
        await self._call("POST", "/inventory", make_inventory(self.index, self._gpus))

    async def _heartbeat(self, connection: Connection | None = None) -> None:
        """Send a heartbeat, by default on the poll's connection; give another one while a poll may be waiting there."""
        body: dict[str, object] = {
            "agent_version": __version__,
            "boot_id": self._host.boot_id,
            "address": self.address,
            "slice_addresses": [],
            "ssh_host_public_key": _HOST_KEY,
            "allocations": [],
            "tls_anchors": self._poll.target.anchors.digests,
        }
        try:
            claims = self._host.claims() if self._claims_wanted else {}
            answer = await self._call("POST", "/heartbeat", {**body, **claims}, connection)
        except Refused as refusal:
            if refusal.status not in NOT_UNDERSTOOD or not self._claims_wanted:
                raise
            self._claims_wanted = False
            answer = await self._call("POST", "/heartbeat", body, connection)
        self._poll.target.learn(answer, self._trust.task_keys)
        self._trust = Trust.from_answer(answer)

    async def _poll_once(self) -> None:
        have = f"&have={','.join(sorted(self._accepted))}" if self._accepted else ""
        answer = await self._call("GET", f"/tasks?wait={self._wait}{have}")
        received_at = time.time()
        offered = answer.get("tasks")
        for entry in offered if isinstance(offered, list) else []:
            task = SignedTask(entry["envelope"], entry["kid"], entry["signature"])
            if task.kid not in self._trust.task_keys:
                await self._heartbeat()
            envelope = signatures.verify_task(task, self._trust.task_keys, self.node_id)
            if envelope.task_id not in self._accepted:
                self._accepted.add(envelope.task_id)
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
        if envelope.kind == "wipe" and envelope.spec.get("shape") == "baremetal" and result.status == "succeeded":
            await self._retry_until_answered(self.rotate_key)
        connection = self._reporting
        path = f"/tasks/{envelope.task_id}/result"
        try:
            await self._retry_until_answered(lambda: self._call("POST", path, result.wire(), connection))
            if envelope.kind == "logs" and result.status == "succeeded" and not chosen:
                with contextlib.suppress(Unreachable):
                    await self._bring_lines(parse_logs(envelope.spec), connection)
            if envelope.kind == "probe" and result.status == "succeeded" and not chosen:
                await self._report_probes(envelope)
        except Refused:
            pass  # the server no longer needs the result
        finally:
            self._accepted.discard(envelope.task_id)

    async def _bring_lines(self, spec: LogSpec, connection: Connection) -> None:
        """Bring lines as a real agent would; a simulated app writes one every few seconds while somebody follows."""
        lines = sim_lines.lines_of(spec, time.time())
        path = f"/logs/{spec.read_id}"
        began = time.monotonic()
        while time.monotonic() - began < sim_lines.LONGEST_SECONDS:
            body = sim_lines.portion(spec, lines)
            answer = await self._call("POST", path, body, connection)
            if not spec.follow or answer.get("watched") is not True:
                return
            spec = sim_lines.after(spec, lines)
            await asyncio.sleep(sim_lines.PERIOD_SECONDS)
            lines = sim_lines.lines_of(spec, time.time())

    async def _report_probes(self, envelope: Envelope) -> None:
        """Say once what the probes of a member say; a simulated app does not change."""
        status, answer = self._behaviour.probe_status
        same = {"status": status, "since": protocol.timestamp(), "answer": answer}
        probes = [{"key": probe.key, **same} for probe in parse_probes(envelope.spec).probes]
        member = {"member_id": envelope.resource_id, "generation": envelope.generation, "probes": probes}
        if probes:
            body = {"members": [member]}
            await self._retry_until_answered(lambda: self._call("POST", "/probes", body, self._reporting))

    async def _outcome(self, envelope: Envelope, started: str) -> Result:
        highest = self._generations.get(envelope.resource_id, -1)
        if envelope.generation < highest:
            return tasks.stale_generation(envelope.generation, highest)
        self._generations[envelope.resource_id] = envelope.generation
        rate = self._behaviour.fail_rates.get(envelope.kind, 0.0)
        failed = self._behaviour.dice.random() < rate
        phase = Phase("simulated", "failed" if failed else "succeeded", started, protocol.timestamp())
        if failed:
            failure = Failure("simulated_failure", "This simulated node is configured to fail", "Retry.", True)
            return Result(envelope.generation, "failed", [phase], failure=failure)
        if envelope.kind == "provision" and self._behaviour.host_certificates:
            await self._certify(envelope)
        try:
            if envelope.kind == "verify_wipe":
                found, evidence = self._host.verify(envelope.spec)
                return Result(envelope.generation, "succeeded", [phase], found, evidence)
            if envelope.kind == "wipe" and self._host.wipe(envelope.spec):
                # A host sends a heartbeat after its restart.
                await self._retry_until_answered(lambda: self._heartbeat(self._reporting))
            return Result(envelope.generation, "succeeded", [phase], self._answer_to(envelope))
        except TaskFailure as problem:
            return Result(envelope.generation, "failed", [phase], failure=phases.failure_of(problem))

    async def _certify(self, envelope: Envelope) -> None:
        body = {
            "allocation_id": envelope.spec["allocation_id"],
            "public_key": _HOST_KEY,
            "address": self.address,
        }
        await self._call("POST", "/host-certificates", body, self._reporting)

    @property
    def _reporting(self) -> Connection:
        return self._reports[self.index % len(self._reports)]

    def _answer_to(self, envelope: Envelope) -> dict[str, object]:
        spec = envelope.spec
        if envelope.kind == "provision":
            return {"ssh": {"address": self.address, "port": 22, "user": spec.get("login_user")}}
        if envelope.kind == "discover":
            return {"inventory": make_inventory(self.index, self._gpus)}
        if envelope.kind == "wipe":
            return {"removed": 0, "restored": 0}
        if envelope.kind == "terminal":
            raise TaskFailure(
                "terminal_not_offered",
                "A simulated host has no shell",
                "Allocate on a real host or on a lab host.",
            )
        if envelope.kind == "inspect":
            asked = specs.parse_inspect(spec)
            return {**asked.echo(), **inspection.wire(inspection.empty_checks(asked), 1)}
        return {}

    async def _call(
        self, method: str, path: str, payload: object = None, connection: Connection | None = None
    ) -> dict[str, object]:
        """Call the server; repeat the call with the new key if the old one was replaced meanwhile."""
        used = self._key
        try:
            return await self._send(method, path, payload, connection or self._poll, used)
        except Refused as refusal:
            if refusal.code != "node_key_replaced" or self.node_id == "-":
                raise
            async with self._rotating:
                pass
            if self._key is used:
                raise
        return await self._send(method, path, payload, connection or self._poll, self._key)

    async def _send(
        self, method: str, path: str, payload: object, connection: Connection, key: Ed25519PrivateKey
    ) -> dict[str, object]:
        body = b"" if payload is None else json.dumps(payload, separators=(",", ":")).encode()
        async with connection.lock:
            signed = signatures.authorization(key, self.node_id, method, API + path, body, self._clock.now_ms())
            try:
                return await connection.call(method, API + path, body, signed, self._wait + 30.0)
            except Refused as refusal:
                server_time = refusal.details.get("server_time_ms")
                if refusal.code == "agent_clock_skew" and isinstance(server_time, int):
                    self._clock.correct(server_time)
                raise
