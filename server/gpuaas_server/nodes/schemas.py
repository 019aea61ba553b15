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

# Why a call that a node signs may be refused.
SIGNED_CALL_PROBLEMS = (
    *("agent_signature_invalid", "agent_clock_skew", "agent_replay", "node_retired", "node_key_expired"),
    *("node_key_replaced", "node_key_wrong_network"),
)


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
    note: Name | None = Field(default=None, description="Purpose of the token.")
    expires_in_seconds: Annotated[int, Field(ge=60, le=30 * 86400)] = Field(
        default=3600, description="How long hosts may enrol with the token."
    )
    max_uses: Annotated[int, Field(ge=1, le=10_000)] = Field(
        default=1, description="Number of hosts that may enrol with the token."
    )


class EnrolmentToken(BaseModel):
    id: str
    note: str | None
    max_uses: int
    uses: int = Field(description="Number of hosts that have enrolled with the token.")
    expires_at: datetime
    revoked_at: datetime | None
    created_by: str
    created_at: datetime


class EnrolmentTokenCreated(BaseModel):
    id: str
    bundle: str = Field(description="The bundle for the agent of the new host. It is shown once.")
    expires_at: datetime
    max_uses: int


class NodeUpdate(Body):
    name: Name | None = None
    labels: Labels | None = Field(default=None, description="Labels of the node. They replace all previous labels.")
    address: Address | None = Field(default=None, description="New address of the host. No other node may have it.")
    erase_drives: bool | None = Field(
        default=None,
        description="False: a wipe does not erase the drives of the slots, and its proof says that they were not examined.",
    )
    source_networks: Annotated[list[Network], Field(min_length=1, max_length=16)] | None = Field(
        default=None,
        description="Addresses or networks that the node's agent may connect from. 0.0.0.0/0 and ::/0 allow all.",
    )


class NodeReason(Body):
    reason: Reason


class NodeDrain(NodeReason):
    """The end of all allocations of a host, of which its projects have notice."""

    model_config = examples({"reason": "kernel update", "starts_at": "2030-03-01T08:00:00Z"})

    starts_at: Moment | None = Field(
        default=None,
        description="When the release of the allocations begins; a time in the past means now. Absent: after the notice of the"
        " platform (`GPUAAS_DRAIN_NOTICE_SECONDS`), or now if nothing is allocated on the host or it is lost.",
    )


class Maintenance(BaseModel):
    reason: str
    since: datetime
    by: str = Field(description="Id of the person.")


WindowState = Literal["planned", "active", "ended", "cancelled"]


class MaintenanceWindowPlan(Body):
    """Maintenance of a host that its tenants are notified of in advance."""

    model_config = examples(
        {"starts_at": "2030-03-01T08:00:00Z", "ends_at": "2030-03-01T10:00:00Z", "reason": "kernel update"}
    )

    starts_at: Moment = Field(
        description="When the maintenance begins; the host takes no new allocation from then on. A time in the past means"
        " now."
    )
    ends_at: Moment = Field(
        description="When the maintenance ends and the host takes allocations again. It must be in the future."
    )
    reason: Reason = Field(description="The reason, which tenants read.")
    cordon_from_now: bool = Field(
        default=False, description="Whether the host takes no new allocation from now on, before the window begins."
    )


class MaintenanceWindow(BaseModel):
    id: str
    node_id: str
    state: WindowState
    starts_at: datetime
    ends_at: datetime
    reason: str
    cordoned_at: datetime | None = Field(
        description="When the window cordoned the node. Null: not yet, or the node was cordoned already."
    )
    planned_by: str = Field(description="Id of the person.")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None = Field(description="When the window ended or was cancelled.")
    finished_by: str | None = Field(description="Id of the person who ended or cancelled the window.")
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
    address: str = Field(description="Address of the host. No other node has it.")
    slice_addresses: list[str] | None = Field(
        description="Addresses that slices on the host may have. Null: an older agent has not reported them."
    )
    source_networks: list[str] | None = Field(
        description="Networks that the node's key is accepted from, recorded when it enrolled. Null: not recorded yet."
    )
    status: NodeStatus
    schedulable: bool = Field(
        description="Whether new allocations may be placed here: the node is alive, approved and not cordoned."
    )
    cordoned: bool = Field(description="Whether the node takes no new allocation.")
    draining: bool = Field(description="Whether its allocations are being released.")
    drained: bool = Field(description="Whether the node is draining and nothing is claimed on it any more.")
    drain_at: datetime | None = Field(
        description="When the planned drain begins. Until then the node is cordoned and its allocations continue."
    )
    maintenance: Maintenance | None = Field(description="Why the node is cordoned, since when and by whom.")
    agent_version: str
    last_seen_at: datetime | None = Field(description="When the agent was last heard from.")
    lost_since: datetime | None = Field(description="When the node became lost; null while its agent reports.")
    retired_at: datetime | None
    boot_id: str | None = Field(description="Changes when the host boots.")
    key_generation: int = Field(description="Number of the key that the agent signs with, from 1.")
    key_expires_at: datetime | None = Field(
        description="When the key expires. The agent renews it before; an expired key is refused until it is approved. Null:"
        " an older agent, whose key does not expire."
    )
    erase_drives: bool = Field(description="Whether a wipe erases the drives of the slots and reads them back.")
    configuration_sha256: str | None = Field(
        description="SHA-256 of the agent.json that a wipe restores, reported while no tenant had the whole host. Null: an"
        " older agent has not reported it."
    )
    agent_sha256: str | None = Field(description="SHA-256 of the agent's program, recorded in the same way.")
    claim_differs: bool = Field(
        description="Whether the agent reports another configuration or program than the recorded one. The recorded one"
        " applies."
    )
    wipe_grades: list[WipeGrade] = Field(description="Grades that the agent can prove for the wipe of the whole host.")
    slots: SlotCounts
    inventory: dict[str, object] = Field(description="What the agent last reported: host facts and warnings.")
    labels: dict[str, str]
    allowed_actions: AllowedActions
    generation: Generation
    created_at: datetime


class NodeSlots(BaseModel):
    """A node in the map of the fleet."""

    id: str
    name: str
    status: NodeStatus
    cordoned: bool = Field(description="Whether the node takes no new allocation.")
    slots: list[MappedSlot] = Field(description="The GPUs of the node, by index.")
