"""The gate of agent calls: every request is signed with the node's key, fresh, and seen for the first time.

A node acts in PLATFORM scope because it serves several tenants; what it may touch is limited by its node id in every query.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from enum import Enum
from functools import partial

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from starlette.requests import Request

from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.admissions import Admission, AdmittedAction
from gpuaas_server.kernel.http.connections import mark_authenticated
from gpuaas_server.kernel.http.edge import client_address
from gpuaas_server.kernel.http.origin import user_agent
from gpuaas_server.kernel.lookups import BatchedLookup
from gpuaas_server.kernel.networks import Networks
from gpuaas_server.nodes import node_key_queries, queries, signatures
from gpuaas_server.nodes.heartbeats import Heartbeats
from gpuaas_server.nodes.liveness import Liveness
from gpuaas_server.nodes.node_keys import KeyMisuse, is_over
from gpuaas_server.nodes.nonces import NonceMemory
from gpuaas_server.nodes.refusals import ENROL, AgentRefusals
from gpuaas_server.nodes.rows import NodeKeyHistory
from gpuaas_server.nodes.signatures import ENROLLING, AgentSignature
from gpuaas_server.nodes.task_inbox import TaskInbox
from gpuaas_server.pki import service as pki

# A key may have been renewed at another replica. Changing calls learn that with their nonce; polls look this often.
KEY_MEMORY = timedelta(minutes=10)
STRAGGLERS = timedelta(seconds=60)
LOOK_AGAIN = timedelta(seconds=1)  # many wrong signatures cost one statement a second, not one statement each


@dataclass(frozen=True, slots=True)
class _FormerKey:
    generation: int
    key: Ed25519PublicKey
    ended_at: datetime


@dataclass(frozen=True, slots=True)
class _KnownNode:
    """The live key of a node, some former ones, the networks it calls from, and when all of this was read."""

    key: Ed25519PublicKey
    name: str
    generation: int = 0
    expires_at: datetime | None = None
    read_at: datetime | None = None
    former: tuple[_FormerKey, ...] = ()
    sources: Networks | None = None  # None: not recorded yet

    def has_signed(self, request: Request, signature: AgentSignature, body: bytes) -> bool:
        return _signed(self.key, request, signature, body)

    def signed_formerly(self, request: Request, signature: AgentSignature, body: bytes) -> _FormerKey | None:
        return next((old for old in self.former if _signed(old.key, request, signature, body)), None)

    def speaks_from(self, address: str) -> bool:
        return self.sources is None or address in self.sources


class NonceVerdict(Enum):
    FRESH = "fresh"
    RETIRED = "retired"


class AgentGate:
    """Implements kernel.http.call.Gate for actions of level `agent`; holds what one process knows about agents."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._nodes: dict[str, _KnownNode] = {}
        self._looked_again: dict[str, datetime] = {}
        self._unknown_nodes = BatchedLookup(self._look_up_nodes)
        self._nonces = NonceMemory()
        self._changing_nonces = BatchedLookup(self._mark_nonces)
        self._refusals = AgentRefusals(platform)
        self.liveness = Liveness(platform)
        self.heartbeats = Heartbeats(platform)
        self.inbox = TaskInbox(platform)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Make the platform's keys if needed, and write signs of life while calls are served."""
        await self._platform.database.health.until_available(partial(pki.ensure_keys, self._platform))
        await self.liveness.open()
        try:
            yield
        finally:
            await self.liveness.close()

    async def admit(self, request: Request, action: str) -> Admission:
        try:
            return await self._admit(request, action)
        except Problem as problem:
            await self._refusals.at_the_gate(request, action, problem)
            raise

    async def refused(self, request: Request, admitted: AdmittedAction, problem: Problem) -> None:
        await self._refusals.by_verb(request, admitted, problem)

    async def _admit(self, request: Request, action: str) -> Admission:
        if action == ENROL:
            await self._refusals.limit_enrolment(request)
        signature = signatures.read_authorization(request.headers.get("authorization", ""))
        if (signature.node_id == ENROLLING) != (action == ENROL):
            raise Problem("agent_signature_invalid", "The node id does not match this call.")
        signatures.check_time(signature, self._platform.clock())
        body = await request.body()
        if signature.node_id == ENROLLING:
            node = _KnownNode(await _key_in_body(request), "enrolling node")
            if not node.has_signed(request, signature, body):
                raise Problem("agent_signature_invalid")
        else:  # an enrolment's nonce is spent with its token, see enrolment.py
            node = await self._proven_node(request, signature, body)
            node = await self._check_nonce(request, signature, body, node)
            request.scope["state"]["node_key_generation"] = node.generation
            self.liveness.record_heartbeat(signature.node_id)
            mark_authenticated(request)
        caller = Caller(signature.node_id, roles=frozenset({"node"}))
        return Admission(_actor(request, signature.node_id, node.name), PLATFORM, caller)

    async def _proven_node(self, request: Request, signature: AgentSignature, body: bytes) -> _KnownNode:
        """Return the node whose key signed the request. Cached keys are read again before anybody is refused by them."""
        now, address = self._platform.clock(), client_address(request)
        node = await self._node(signature.node_id, now - KEY_MEMORY)
        good = node.has_signed(request, signature, body) and not is_over(node.expires_at, now)
        if not good or not self._is_at_home(node, address):
            node = await self._node_again(signature.node_id, now)
            if not node.has_signed(request, signature, body):
                raise _not_signed(node, signature.node_id, node.signed_formerly(request, signature, body), address, now)
            if is_over(node.expires_at, now):
                raise Problem("node_key_expired")
            if not self._is_at_home(node, address):
                raise KeyMisuse("node_key_wrong_network", signature.node_id, node.generation)
        return node

    def _is_at_home(self, node: _KnownNode, address: str) -> bool:
        return not self._platform.settings.node_source_check or node.speaks_from(address)

    async def prove_again(self, request: Request, begun_at: datetime) -> None:
        """The node has another key than the one that this request was admitted by. One that began with the old key may end
        in peace; a later one was admitted by what this process remembered, and is refused.
        """
        signature = signatures.read_authorization(request.headers.get("authorization", ""))
        self.forget_keys(signature.node_id)
        try:
            await self._proven_node(request, signature, await request.body())
        except KeyMisuse as misuse:
            if misuse.ended_at is None or misuse.ended_at <= begun_at:
                await self._refusals.at_the_gate(request, "agent_task_poll", misuse)
                raise

    async def _node_again(self, node_id: str, now: datetime) -> _KnownNode:
        """Read the node's keys again, but not for every wrong signature that somebody sends."""
        last = self._looked_again.get(node_id)
        if last is None or not timedelta() <= now - last < LOOK_AGAIN:
            self._looked_again[node_id] = now
            self.forget_keys(node_id)
        return await self._node(node_id, now - KEY_MEMORY)

    def forget_keys(self, node_id: str) -> None:
        """Drop the node's keys from the cache, since they have changed."""
        self._nodes.pop(node_id, None)

    async def _node(self, node_id: str, read_since: datetime) -> _KnownNode:
        """Return the node's keys as of `read_since` or later. Whether the node is retired is asked with every call."""
        known = self._nodes.get(node_id)
        if known is None or known.read_at is None or known.read_at < read_since:
            known = await self._unknown_nodes.ask(node_id)
            if known is None:
                raise Problem("agent_signature_invalid")
            self._nodes[node_id] = known
        return known

    async def _look_up_nodes(self, node_ids: Sequence[str]) -> dict[str, _KnownNode]:
        async with self._platform.database.connection(PLATFORM) as connection:
            rows = await node_key_queries.node_keys(connection, node_ids)
        return {row.id: _known(row, self._platform.clock()) for row in rows}

    async def _check_nonce(
        self, request: Request, signature: AgentSignature, body: bytes, node: _KnownNode
    ) -> _KnownNode:
        """Refuse a nonce that was used before: in this process's memory and, for changing calls, in the database, for all
        replicas. Return the node as it is known then.
        """
        if not self._nonces.first_time(signature, self._platform.clock()):
            raise Problem("agent_replay")
        if request.method == "GET":
            return node
        seen = await self._changing_nonces.ask((signature.node_id, bytes.fromhex(signature.nonce)))
        if seen is None:
            raise Problem("agent_replay")
        verdict, generation = seen
        if verdict is NonceVerdict.RETIRED:
            raise Problem("node_retired")
        if generation != node.generation:  # another replica has heard of a new key
            self.forget_keys(signature.node_id)
            return await self._proven_node(request, signature, body)
        return node

    async def _mark_nonces(
        self, nonces: Sequence[tuple[str, bytes]]
    ) -> dict[tuple[str, bytes], tuple[NonceVerdict, int | None]]:
        now = self._platform.clock()
        async with self._platform.database.connection(PLATFORM) as connection:
            rows = await queries.nonces_insert(connection, nonces, now)
        return {
            (row.node_id, row.nonce): (
                NonceVerdict.RETIRED if row.retired else NonceVerdict.FRESH,
                row.key_generation,
            )
            for row in rows
        }


def _known(row: NodeKeyHistory, now: datetime) -> _KnownNode:
    key = Ed25519PublicKey.from_public_bytes(row.public_key)
    former = tuple(
        _FormerKey(generation, signatures.public_key_from_base64(text), datetime.fromisoformat(ended))
        for generation, text, ended in row.former
    )
    networks = row.source_networks
    sources = None if networks is None else Networks(",".join(networks))
    return _KnownNode(key, row.name, row.key_generation, row.key_expires_at, now, former, sources)


def _signed(key: Ed25519PublicKey, request: Request, signature: AgentSignature, body: bytes) -> bool:
    try:
        signatures.check_signature(key, request.method, _target(request), signature, body)
    except Problem:
        return False
    return True


def _not_signed(node: _KnownNode, node_id: str, former: _FormerKey | None, address: str, now: datetime) -> Problem:
    """Return the refusal of a wrong signature; a former key has its own code. Right after a rotation, the agent's last calls
    may still be under way: from the node's own address, they cause no alarm.
    """
    if former is None:
        return Problem("agent_signature_invalid")
    late = node.speaks_from(address) and now - former.ended_at < STRAGGLERS
    return KeyMisuse("node_key_replaced", node_id, former.generation, former.ended_at, alarming=not late)


def key_generation(request: Request) -> int:
    """Return the generation of the key that signed the request, which the gate has admitted."""
    generation: int = request.scope["state"]["node_key_generation"]
    return generation


async def signed_by_key(request: Request) -> Callable[[bytes], bool]:
    """Return a function that tells whether a key has signed the request."""
    signature = signatures.read_authorization(request.headers.get("authorization", ""))
    body = await request.body()
    return lambda public_key: _signed(Ed25519PublicKey.from_public_bytes(public_key), request, signature, body)


def _target(request: Request) -> str:
    """Return path and query exactly as they came over the wire: what was signed is what was sent."""
    raw_path: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    query: bytes = request.scope["query_string"]
    target = raw_path.partition(b"?")[0] + (b"?" + query if query else b"")
    return target.decode("latin-1")


async def _key_in_body(request: Request) -> Ed25519PublicKey:
    try:
        body = await request.json()
    except ValueError as error:
        raise Problem("malformed_body") from error
    if not isinstance(body, dict):
        raise Problem("agent_signature_invalid", "The body has no public_key.")
    return signatures.public_key_from_base64(body.get("public_key"))


def _actor(request: Request, node_id: str, name: str) -> Actor:
    state = request.scope["state"]
    return Actor(
        id=node_id,
        kind="node",
        name=name,
        correlation_id=state["correlation_id"],
        traceparent=state["traceparent"],
        address=client_address(request),
        user_agent=user_agent(request),
        source="agent",
    )
