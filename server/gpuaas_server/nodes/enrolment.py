"""Makes a host a node: an administrator makes a one-time token, the host's agent trades it for a node id."""

import base64
import hashlib
import secrets
from datetime import datetime, timedelta

import orjson

from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.capacity import service as capacity
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.networks import Networks
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.kernel.wipe_grades import provable_grades
from gpuaas_server.nodes import addresses, enrolment_queries, node_key_queries, queries
from gpuaas_server.nodes.address_queries import has_whole_host_tenant
from gpuaas_server.nodes.addresses import NodeAddresses, source_networks_of
from gpuaas_server.nodes.agent_schemas import Enrol
from gpuaas_server.nodes.node_keys import KeyMisuse, key_life
from gpuaas_server.nodes.rows import EnrolmentTokenRow, KeyOwner, NewNode
from gpuaas_server.nodes.schemas import EnrolmentToken, EnrolmentTokenCreate, EnrolmentTokenCreated
from gpuaas_server.nodes.signatures import ENROLLING

BUNDLE_PREFIX = "gpuaas-enrol.v1."


def make_bundle(urls: list[str], ca_sha256: str | None, token: str) -> str:
    content: dict[str, object] = {"urls": urls, "token": token}
    if ca_sha256 is not None:
        content["ca_sha256"] = ca_sha256
    return BUNDLE_PREFIX + base64.urlsafe_b64encode(orjson.dumps(content)).rstrip(b"=").decode()


async def enrolment_token_create(
    tx: Tx, body: EnrolmentTokenCreate, urls: list[str], ca_sha256: str | None
) -> EnrolmentTokenCreated:
    token, token_id = secrets.token_urlsafe(32), new_id("ent")
    expires_at = tx.now + timedelta(seconds=body.expires_in_seconds)
    row = EnrolmentTokenRow(
        id=token_id,
        token_sha256=_digest(token),
        note=body.note,
        max_uses=body.max_uses,
        expires_at=expires_at,
        created_by=tx.actor.id,
        created_at=tx.now,
    )
    await enrolment_queries.token_insert(tx.connection, row)
    details: dict[str, object] = {"max_uses": body.max_uses, "expires_at": expires_at.isoformat()}
    await audit.record(tx, AuditEntry("enrolment_token_create", token_id, reason=body.note, details=details))
    bundle = make_bundle(urls, ca_sha256, token)
    return EnrolmentTokenCreated(id=token_id, bundle=bundle, expires_at=expires_at, max_uses=body.max_uses)


async def enrolment_token_list(connection: Connection, page: PageRequest) -> Page[EnrolmentToken]:
    rows = await enrolment_queries.token_list(connection, page)
    return Page[EnrolmentToken].of([EnrolmentToken(**fields_of(row)) for row in rows], page)


async def enrolment_token_revoke(tx: Tx, token_id: str) -> None:
    if not await enrolment_queries.token_revoke(tx.connection, token_id, tx.now):
        raise not_found("enrolment token", token_id)
    await audit.record(tx, AuditEntry("enrolment_token_revoke", token_id))


async def node_enrol(tx: Tx, body: Enrol, nonce: str, settings: Settings) -> str:
    """Return the node's id. The nonce is stored only with a good token: unauthenticated callers cannot fill the table."""
    node_id = await _trade(tx, body, settings)
    if not await queries.nonces_insert(tx.connection, [(ENROLLING, bytes.fromhex(nonce))], tx.now):
        raise Problem("agent_replay")
    return node_id


async def _trade(tx: Tx, body: Enrol, settings: Settings) -> str:
    """Trade the token for a node id. The same token with the key of the same node is the same host again, and gets the
    same id: the key may have been renewed since, and a token has a use for each host, not for each key.
    """
    public_key = base64.b64decode(body.public_key)
    token = await enrolment_queries.token_lock(tx.connection, _digest(body.token))
    if token is None or token.revoked_at is not None:
        raise Problem("enrolment_token_invalid")
    before = await _node_before(tx, public_key, settings)
    known = await enrolment_queries.use_of_key(tx.connection, token.id, public_key)
    if known is not None:
        return known
    if before is not None and await enrolment_queries.is_use_of_node(tx.connection, token.id, before.id):
        return before.id
    if token.expires_at <= tx.now:
        raise Problem("enrolment_token_invalid", "The enrolment token has expired.")
    if token.uses >= token.max_uses:
        raise Problem("enrolment_token_used")
    expires_at = tx.now + key_life(settings)
    if before is None:
        node_id = await _node_create(tx, public_key, body, expires_at)
    else:
        node_id = await _node_again(tx, before, expires_at)
    await enrolment_queries.use_insert(tx.connection, token.id, public_key, node_id, tx.now)
    details: dict[str, object] = {"hostname": body.hostname, "address": body.address, "by": token.id}
    await audit.record(tx, AuditEntry("agent_enrol", node_id, details=details))
    await events.emit(tx, NewEvent("node.enrolled", node_id, data={"hostname": body.hostname}))
    return node_id


async def _node_before(tx: Tx, public_key: bytes, settings: Settings) -> KeyOwner | None:
    """Return the node that has this key now. A key that is dead enrols nothing, also with the token that it had before; and
    while a tenant has the whole host, they could have copied its key: it counts from where the node is, as in every call.
    """
    node = await queries.node_by_key(tx.connection, public_key)
    if node is None:
        former = await node_key_queries.former_key(tx.connection, public_key)
        if former is not None:
            generation: dict[str, object] = {"key_generation": former.key_generation}
            raise Problem("node_key_replaced", "This key was a node's key before; make a new one.", generation)
        return None
    if node.retired_at is not None:
        raise Problem("node_retired", "This key belonged to a retired node; make a new one.")
    networks = node.source_networks
    is_elsewhere = networks is not None and tx.actor.address not in Networks(",".join(networks))
    if is_elsewhere and settings.node_source_check and await has_whole_host_tenant(tx.connection, node.id):
        raise KeyMisuse("node_key_wrong_network", node.id, node.key_generation)
    return node


async def _node_again(tx: Tx, before: KeyOwner, key_expires_at: datetime) -> str:
    """Let a host that kept its key be the node that it was, also with a new token. What a tenant could have changed stays."""
    await node_key_queries.node_key_extend(tx.connection, before.id, key_expires_at)
    if not await has_whole_host_tenant(tx.connection, before.id):
        await node_key_queries.source_networks_set(tx.connection, before.id, source_networks_of(tx.actor.address))
    return before.id


async def _node_create(tx: Tx, public_key: bytes, body: Enrol, key_expires_at: datetime) -> str:
    node_id = new_id("nod")
    await queries.node_names_lock(tx.connection)
    taken = await queries.node_name_taken(tx.connection, body.hostname, node_id)
    name = f"{body.hostname}-{node_id[-6:]}" if taken else body.hostname
    reported = NodeAddresses.read(body.address, body.slice_addresses)
    node = NewNode(
        id=node_id,
        name=name,
        hostname=body.hostname,
        address=reported.host,
        slice_addresses=None if reported.slices is None else list(reported.slices),
        public_key=public_key,
        ssh_host_public_key=body.ssh_host_public_key,
        agent_version=body.agent_version,
        key_expires_at=key_expires_at,
        configuration=body.configuration,
        agent_sha256=body.agent_sha256,
        created_at=tx.now,
    )
    await queries.node_insert(tx.connection, node)
    await addresses.addresses_create(tx, node_id, reported)
    await node_key_queries.source_networks_set(tx.connection, node_id, source_networks_of(tx.actor.address))
    await capacity.node_eligibility_set(tx, node_id, True)
    await capacity.node_wipe_grade_set(tx, node_id, provable_grades(body.agent_sha256)[-1])
    return node_id


async def enrolment_tokens_forget(tx: Tx, before: datetime, portion: int) -> int:
    return await enrolment_queries.tokens_delete_before(tx.connection, before, portion)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
