"""The key that a node's agent signs with: renewed by the agent itself before it ends, approved by an operator after.

Every new key is a generation of the node, and the one before is dead from that moment. An agent that did not hear the answer
asks again with the new key. A bare-metal host makes a new key in every wipe, because its tenant could have copied the old one.
"""

import base64
from collections.abc import Callable
from datetime import datetime, timedelta

from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.nodes import node_key_queries as queries
from gpuaas_server.nodes import signatures
from gpuaas_server.nodes.agent_schemas import NodeKey, NodeKeyRotate

REMEMBERED = 1000  # former keys of a node that are known as such
APPROVED_FOR = timedelta(days=1)


class KeyMisuse(Problem):
    """A call signed by a key that the node had before, or by its key from where the node is not."""

    def __init__(
        self, code: str, node_id: str, generation: int, ended_at: datetime | None = None, alarming: bool = True
    ) -> None:
        super().__init__(code)
        self.node_id = node_id
        self.generation = generation
        self.ended_at = ended_at
        self.alarming = alarming


def key_life(settings: Settings) -> timedelta:
    return timedelta(days=settings.node_key_days)


async def current_key(connection: Connection, node_id: str) -> NodeKey:
    """Return which key of the node is live, and until when."""
    [row] = await queries.node_keys(connection, [node_id])
    return NodeKey(key_generation=row.key_generation, key_expires_at=row.key_expires_at)


async def node_key_rotate(
    tx: Tx, node_id: str, body: NodeKeyRotate, life: timedelta, signed_by: Callable[[bytes], bool]
) -> NodeKey:
    """Give the node its new key. The same key again gets the same answer; only the current key may bring another."""
    public_key = base64.b64decode(body.public_key)
    signatures.check_possession(public_key, node_id, body.proof)
    row = await queries.node_key_lock(tx.connection, node_id)
    if row is None:
        raise Problem("agent_signature_invalid")
    if row.public_key != public_key:
        if not signed_by(row.public_key):
            raise Problem("agent_signature_invalid", "Only the node's current key can register another.")
        if await queries.former_key(tx.connection, public_key) is not None:
            raise Problem("node_key_replaced", "This key was a node's key before; make a new one.")
        row = await queries.node_key_set(tx.connection, node_id, public_key, tx.now + life, tx.now)
        await queries.former_keys_delete(tx.connection, node_id, row.key_generation - REMEMBERED)
        tx.wakeups.add(host_tasks.topic(node_id))  # a poll that was signed with the old key ends now
        generation: dict[str, object] = {"key_generation": row.key_generation}
        await audit.record(tx, AuditEntry("agent_key_rotate", node_id, details=generation))
        await events.emit(tx, NewEvent("node.key_rotated", node_id, data=generation))
    return NodeKey(key_generation=row.key_generation, key_expires_at=row.key_expires_at)


async def node_key_approve(tx: Tx, node_id: str, reason: str) -> None:
    """Extend the node's key for one more day, in which its agent renews it."""
    row = await queries.node_key_lock(tx.connection, node_id)
    if row is None or row.key_expires_at is None or row.key_expires_at > tx.now + APPROVED_FOR:
        raise Problem("conflict", "The node's key does not end within a day: there is nothing to approve.")
    await queries.node_key_extend(tx.connection, node_id, tx.now + APPROVED_FOR)
    details: dict[str, object] = {"expired_at": row.key_expires_at.isoformat()}
    await audit.record(tx, AuditEntry("node_key_approve", node_id, reason=reason, details=details))
    await events.emit(tx, NewEvent("node.key_approved", node_id, data={}))


async def count_ending_keys(tx: Tx, life: timedelta) -> None:
    """Count for monitoring: agents renew after two thirds of a key's life, so half of what is left then is late."""
    found = await queries.keys_ending(tx.connection, tx.now, tx.now + life / 6)
    metrics.node_keys.labels("expired").set(found.expired)
    metrics.node_keys.labels("late").set(found.late)


def is_over(expires_at: datetime | None, now: datetime) -> bool:
    return expires_at is not None and expires_at <= now
