"""Wire types of nodes and enrolment tokens, as people see them."""

from datetime import datetime
from ipaddress import ip_network
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from gpuaas_server.capacity.schemas import MappedSlot
from gpuaas_server.kernel.http.schemas import (
    AllowedActions,
    Body,
    Generation,
    Moment,
    Name,
    Reason,
    examples,
)
from gpuaas_server.kernel.networks import IPV4_PATTERN, IPV6_PATTERN
from gpuaas_server.kernel.ssh_targets import TARGET_ADDRESS_SCHEMA, normal_target_address
from gpuaas_server.kernel.wipe_grades import WipeGrade


def _normal(text: str) -> str:
    normal = normal_target_address(text)
    if normal is None:
        raise ValueError("neither an IP address nor a DNS name")
    return normal


Address = Annotated[
    str,
    StringConstraints(pattern=r"^([A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9A-Fa-f:.]{2,45})$"),
    AfterValidator(_normal),
    Field(json_schema_extra={**TARGET_ADDRESS_SCHEMA}),
]
NodeStatus = Literal["enrolled", "ready", "lost", "retired"]
LabelKey = Annotated[str, StringConstraints(pattern="^[a-z0-9]([a-z0-9./_-]{0,61}[a-z0-9])?$")]
LabelValue = Annotated[str, StringConstraints(max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")]
Labels = Annotated[dict[LabelKey, LabelValue], Field(max_length=50, json_schema_extra={"additionalProperties": False})]


def _network(text: str) -> str:
    return str(ip_network(text, strict=False))


_IPV4_NETWORK = f"({IPV4_PATTERN})(/([12]?[0-9]|3[0-2]))?"
_IPV6_NETWORK = f"({IPV6_PATTERN})(/([1-9]?[0-9]|1[01][0-9]|12[0-8]))?"
Network = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9A-Fa-f:.]{2,45}(/(0|[1-9][0-9]{0,2}))?$"),
    AfterValidator(_network),
    Field(json_schema_extra={"pattern": f"^({_IPV4_NETWORK}|{_IPV6_NETWORK})$"}),
]


class EnrolmentTokenCreate(Body):
    note: Name | None = Field(default=None, description="What it is for.")
    expires_in_seconds: Annotated[int, Field(ge=60, le=30 * 86400)] = Field(
        default=3600, description="How long hosts may enrol with it."
    )
    max_uses: Annotated[int, Field(ge=1, le=10_000)] = Field(default=1, description="How many hosts may enrol with it.")


class EnrolmentToken(BaseModel):
    id: str
    note: str | None
    max_uses: int
    uses: int = Field(description="How many hosts have enrolled with it.")
    expires_at: datetime
    revoked_at: datetime | None
    created_by: str
    created_at: datetime


class EnrolmentTokenCreated(BaseModel):
    id: str
    bundle: str = Field(description="Shown once. Give it to the agent of the new host.")
    expires_at: datetime
    max_uses: int


class NodeUpdate(Body):
    name: Name | None = None
    labels: Labels | None = Field(default=None, description="In place of all labels until now.")
    address: Address | None = Field(
        default=None, description="Where the host can be reached, after a move. No other node may have it."
    )
    erase_drives: bool | None = Field(
        default=None,
        description="False: a wipe leaves the drives of the slots alone, and its proof says that they were not examined.",
    )
    source_networks: Annotated[list[Network], Field(min_length=1, max_length=16)] | None = Field(
        default=None, description="From where its agent may come: addresses or networks. 0.0.0.0/0 and ::/0: anywhere."
    )


class NodeReason(Body):
    reason: Reason


class Maintenance(BaseModel):
    reason: str
    since: datetime
    by: str = Field(description="Id of the person.")


WindowState = Literal["planned", "active", "ended", "cancelled"]


class MaintenanceWindowPlan(Body):
    """Work on a host that its tenants are told of in advance."""

    model_config = examples(
        {"starts_at": "2030-03-01T08:00:00Z", "ends_at": "2030-03-01T10:00:00Z", "reason": "kernel update"}
    )

    starts_at: Moment = Field(description="From then on nothing new lands there. In the past: now.")
    ends_at: Moment = Field(description="In the future. The host takes allocations again then.")
    reason: Reason = Field(description="Tenants read it.")
    cordon_from_now: bool = Field(default=False, description="Nothing new lands there already before it begins.")


class MaintenanceWindow(BaseModel):
    id: str
    node_id: str
    state: WindowState
    starts_at: datetime
    ends_at: datetime
    reason: str
    cordoned_at: datetime | None = Field(
        description="When it cordoned the node. Null: not yet, or the node was cordoned already."
    )
    planned_by: str = Field(description="Id of the person.")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None = Field(description="When it ended or was cancelled.")
    finished_by: str | None
    finished_reason: str | None
    allowed_actions: AllowedActions = []


class SlotCounts(BaseModel):
    total: int = 0
    available: int = 0
    claimed: int = 0
    cleaning: int = 0
    cleanup_blocked: int = 0
    disabled: int = 0
    discovered: int = 0


class Node(BaseModel):
    id: str
    name: str
    hostname: str
    address: str = Field(description="Where it can be reached. It belongs to no other node.")
    slice_addresses: list[str] | None = Field(
        description="Addresses that slices on it may have. Null: its agent is of an older release and has not said."
    )
    source_networks: list[str] | None = Field(
        description="From where its key is taken, as recorded when it enrolled. Null: not recorded yet."
    )
    status: NodeStatus
    schedulable: bool = Field(description="Alive, approved and not cordoned: new allocations may land here.")
    cordoned: bool = Field(description="Nothing new lands here.")
    draining: bool = Field(description="Its allocations are being released.")
    drained: bool = Field(description="Draining, and nothing is claimed any more.")
    maintenance: Maintenance | None = Field(description="Why it is cordoned, since when and by whom.")
    agent_version: str
    last_seen_at: datetime | None = Field(description="The last sign of life of its agent.")
    lost_since: datetime | None = Field(
        description="Since when its agent is silent for too long; null while it is not."
    )
    retired_at: datetime | None
    boot_id: str | None = Field(description="Changes when the host boots.")
    key_generation: int = Field(description="Which key its agent signs with, counted from 1.")
    key_expires_at: datetime | None = Field(
        description="Its agent renews the key before then. In the past: it is refused until the key is approved. Null: the"
        " agent is of an older release, whose key has no end."
    )
    erase_drives: bool = Field(description="Whether a wipe erases the drives of the slots and reads them back.")
    configuration_sha256: str | None = Field(
        description="Of the agent.json that a wipe brings back: as the agent reported it when no tenant had the whole host."
        " Null: of an agent of an older release."
    )
    agent_sha256: str | None = Field(description="Of the agent's program, recorded in the same way.")
    claim_differs: bool = Field(
        description="Its agent reports another configuration or program than is recorded; the recorded one stands."
    )
    wipe_grades: list[WipeGrade] = Field(description="How well its agent can prove the wipe of the whole host.")
    slots: SlotCounts
    inventory: dict[str, object] = Field(description="What the agent last reported: host, warnings.")
    labels: dict[str, str]
    allowed_actions: AllowedActions
    generation: Generation
    created_at: datetime


class NodeSlots(BaseModel):
    """A node in the map of the fleet."""

    id: str
    name: str
    status: NodeStatus
    cordoned: bool = Field(description="Nothing new lands here.")
    slots: list[MappedSlot] = Field(description="The GPUs that are there, by their index.")
