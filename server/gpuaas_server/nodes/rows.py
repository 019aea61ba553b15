"""The rows of nodes: each class has the columns of one table, or of one question to the database."""

from datetime import datetime

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.rows import computed

APPROVED = "EXISTS (SELECT 1 FROM node_resource_slots s WHERE s.node_id = n.id AND s.approved_at IS NOT NULL)"
FORMER_KEYS = 4  # so many of a node's former keys are recognised


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node `n` as people see it; `h` is its heartbeat."""

    id: str
    name: str
    hostname: str
    address: str
    slice_addresses: list[str] | None
    source_networks: list[str] | None
    ssh_host_public_key: str
    agent_version: str
    boot_id: str | None
    cordoned: bool
    draining: bool
    drain_at: datetime | None
    maintenance_reason: str | None
    maintenance_since: datetime | None
    maintenance_by: str | None
    lost_since: datetime | None
    retired_at: datetime | None
    inventory: dict[str, object]
    labels: dict[str, str]
    key_generation: int
    key_expires_at: datetime | None
    generation: int
    created_at: datetime
    erase_drives: bool
    agent_sha256: str | None
    configuration_sha256: str | None = computed("encode(sha256(convert_to(n.configuration, 'UTF8')), 'hex')")
    claim_differs: bool = computed("n.differing_claim IS NOT NULL")
    last_seen_at: datetime | None = computed("h.last_seen_at")
    window_live: bool = computed(
        "EXISTS (SELECT 1 FROM maintenance_windows m"
        " WHERE m.node_id = n.id AND (m.state = 'planned' OR m.state = 'active'))"
    )
    approved: bool = computed(APPROVED)


@dataclass(frozen=True, slots=True)
class NewNode:
    """The columns that an enrolment writes."""

    id: str
    name: str
    hostname: str
    address: str
    slice_addresses: list[str] | None
    public_key: bytes
    ssh_host_public_key: str
    agent_version: str
    key_expires_at: datetime
    configuration: str | None
    agent_sha256: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class MappedNode:
    """Holds what a map of the fleet says of a node `n`."""

    id: str
    name: str
    cordoned: bool
    draining: bool
    drain_at: datetime | None
    lost_since: datetime | None
    retired_at: datetime | None
    approved: bool = computed(APPROVED)


@dataclass(frozen=True, slots=True)
class FreshNonce:
    """A nonce that nobody used before, and its node; that of an enrolment has none."""

    node_id: str
    nonce: bytes
    retired: bool
    key_generation: int | None


@dataclass(frozen=True, slots=True)
class KeyOwner:
    """The node that has a public key."""

    id: str
    retired_at: datetime | None
    key_generation: int
    source_networks: list[str] | None


@dataclass(frozen=True, slots=True)
class FormerKeyOwner:
    """The node that had a public key before, and which generation its key has now."""

    id: str
    key_generation: int


@dataclass(frozen=True, slots=True)
class ReportedFacts:
    """The facts of a node that its heartbeats report."""

    agent_version: str
    boot_id: str | None
    ssh_host_public_key: str
    tls_anchors: list[str] | None


@dataclass(frozen=True, slots=True)
class NodeWithoutAnchor:
    """A node in use that has not confirmed a CA; `alive` and `total` count all such nodes."""

    id: str
    name: str
    lost: bool
    alive: int
    total: int


@dataclass(frozen=True, slots=True)
class LivenessCrossing:
    """A node whose last sign of life is on the other side of the line than its mark says."""

    id: str
    last_seen_at: datetime
    lost_since: datetime | None


@dataclass(frozen=True, slots=True)
class MarkedNode:
    """A node that was just marked as lost or back."""

    id: str
    cordoned: bool


@dataclass(frozen=True, slots=True)
class RecordedClaim:
    """Holds what is recorded of a node for its wipes."""

    configuration: str | None
    agent_sha256: str | None
    erase_drives: bool
    differing_claim: str | None


@dataclass(frozen=True, slots=True)
class RecordedAddresses:
    """The addresses of a node; `recorded` has the kind of each that is recorded as its own."""

    address: str
    slice_addresses: list[str] | None
    source_networks: list[str] | None
    recorded: dict[str, str]


@dataclass(frozen=True, slots=True)
class NodeKeyRow:
    """The key that a node's agent signs with."""

    id: str
    name: str
    public_key: bytes
    key_generation: int
    key_expires_at: datetime | None
    source_networks: list[str] | None


@dataclass(frozen=True, slots=True)
class NodeKeyHistory(NodeKeyRow):
    """The key of a node with its latest former ones, each as [generation, base64, end]."""

    former: list[tuple[int, str, str]] = computed(
        "(SELECT coalesce(jsonb_agg(jsonb_build_array(f.key_generation, encode(f.public_key, 'base64'), f.ended_at)), '[]')"
        " FROM (SELECT key_generation, public_key, ended_at FROM node_former_keys k"
        f" WHERE k.node_id = nodes.id ORDER BY key_generation DESC LIMIT {FORMER_KEYS}) f)"
    )


@dataclass(frozen=True, slots=True)
class EndingKeys:
    """Counts the keys of nodes in use that have ended, and those that are late to be renewed."""

    expired: int
    late: int


@dataclass(frozen=True, slots=True)
class MaintenanceWindowRow:
    id: str
    node_id: str
    starts_at: datetime
    ends_at: datetime
    reason: str
    cordoned_at: datetime | None
    planned_by: str
    created_at: datetime
    state: str = "planned"
    started_at: datetime | None = None
    finished_at: datetime | None = None
    finished_by: str | None = None
    finished_reason: str | None = None


@dataclass(frozen=True, slots=True)
class EnrolmentTokenRow:
    id: str
    token_sha256: bytes
    note: str | None
    max_uses: int
    expires_at: datetime
    created_by: str
    created_at: datetime
    uses: int = 0
    revoked_at: datetime | None = None
