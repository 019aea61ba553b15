"""Records what the platform itself knows of a node, so that a wipe can bring it back and a verification be compared with it.

Whoever is root on a host can make its agent report anything. Its configuration and the digest of its program are therefore
taken over only while no tenant of the whole host could have written them; at other times a report that differs is told to
operators, and what is recorded stands.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from datetime import datetime

from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.capacity import service as capacity
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.kernel.wipe_grades import provable_grades
from gpuaas_server.nodes import queries
from gpuaas_server.pki import service as pki

MOST_BOOTS = 1000


async def claim_store(tx: Tx, node_id: str, configuration: str | None, agent_sha256: str | None) -> None:
    """Record what the agent reports of itself, or tell operators that it differs, once for each differing claim."""
    known = await queries.claim_show(tx.connection, node_id)
    if known is None:
        return
    if (known.configuration, known.agent_sha256) == (configuration, agent_sha256):
        if known.differing_claim is not None:
            await queries.claim_differs(tx.connection, node_id, None)
        return
    if await queries.claim_record(tx.connection, node_id, configuration, agent_sha256):
        details = {"before": _digests(known.configuration, known.agent_sha256)}
        after: dict[str, object] = {"after": _digests(configuration, agent_sha256)}
        await audit.record(tx, AuditEntry("agent_heartbeat", node_id, details=details | after))
        if (known.agent_sha256 is None) != (agent_sha256 is None):
            await capacity.node_wipe_grade_set(tx, node_id, provable_grades(agent_sha256)[-1])
        return
    differing = claim_digest(configuration, agent_sha256)
    if known.differing_claim == differing:
        return
    await queries.claim_differs(tx.connection, node_id, differing)
    told: dict[str, object] = {
        "recorded": _digests(known.configuration, known.agent_sha256),
        "reported": _digests(configuration, agent_sha256),
    }
    await audit.record(tx, AuditEntry("node_claim_differs", node_id, details=told))
    await events.emit(tx, NewEvent("node.claim_differs", node_id, data=told))


async def facts_freeze(tx: Tx, node_id: str) -> None:
    """Record no reports of a host that was given back without a proof, until a wipe of it is proven."""
    await queries.facts_frozen_set(tx.connection, node_id, True)


async def facts_release(tx: Tx, node_id: str) -> None:
    await queries.facts_frozen_set(tx.connection, node_id, False)


async def boots_reported(connection: Connection, node_id: str, since: datetime) -> list[str] | None:
    """Return every boot id that the host has reported since then, or that it had when it reported the first of them. The
    audit trail has them. None when there are too many to be a host's own.
    """
    found = await audit.values_on_record(connection, node_id, "agent_heartbeat", "boot_id", since, MOST_BOOTS + 1)
    return sorted(found) if len(found) <= MOST_BOOTS else None


async def wipe_order(connection: Connection, settings: Settings, node_id: str, whole_host: bool) -> dict[str, object]:
    """Return the part of a wipe's task that is about the node. For a slice, whose tenant is not root, that is the drives."""
    known = await queries.claim_show(connection, node_id)
    order: dict[str, object] = {"erase_drives": known.erase_drives if known else True}
    if not whole_host:
        return order
    configuration = known.configuration if known else None
    identity = await _identity(connection, settings, node_id)
    expected = {
        "configuration_sha256": text_digest(configuration),
        "trust_sha256": document_digest(identity),
        "agent_sha256": known.agent_sha256 if known else None,
    }
    return {**order, "expected": expected, "restore": {"configuration": configuration, "identity": identity}}


async def _identity(connection: Connection, settings: Settings, node_id: str) -> dict[str, object]:
    """Return whom the agent has to trust and where it finds the platform."""
    published = await pki.published_keys(connection, "task_signing", "ssh_user_ca", "ssh_host_ca", "tls_ca")
    identity: dict[str, object] = {
        "node_id": node_id,
        "urls": settings.agent_urls,
        "task_keys": [
            {"kid": key.kid, "public_key": base64.b64encode(key.raw).decode()}
            for key in published
            if key.kind == "task_signing"
        ],
        "user_ca_keys": [key.ssh_line for key in published if key.kind == "ssh_user_ca"],
        "host_ca_keys": [key.ssh_line for key in published if key.kind == "ssh_host_ca"],
        "poll_wait_seconds": poll_wait_seconds(settings.node_lost_seconds),
    }
    if any(url.startswith("https://") for url in settings.agent_urls):
        identity["tls_anchors"] = [key.certificate for key in published if key.kind == "tls_ca"]
    return identity


def poll_wait_seconds(node_lost_seconds: int) -> int:
    """Return how long a poll waits: long enough to be cheap, short enough that a waiting node never counts as lost."""
    return max(1, min(30, node_lost_seconds // 3))


def text_digest(text: str | None) -> str | None:
    return None if text is None else hashlib.sha256(text.encode()).hexdigest()


def document_digest(document: Mapping[str, object]) -> str:
    """Return the digest of the document as canonical JSON: keys in order, no spaces."""
    return hashlib.sha256(json.dumps(document, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def claim_digest(configuration: str | None, agent_sha256: str | None) -> str:
    return document_digest(_digests(configuration, agent_sha256))


def _digests(configuration: str | None, agent_sha256: str | None) -> dict[str, object]:
    return {"configuration_sha256": text_digest(configuration), "agent_sha256": agent_sha256}
