"""Wire types of the agent protocol (docs/reference/agent-protocol.md)."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import Body, Moment
from gpuaas_server.kernel.ids import AllocationId
from gpuaas_server.nodes.reported_values import ReportedObject, ReportedText, ReportedWord
from gpuaas_server.nodes.schemas import Address

Hostname = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$")]
# The length is bounded as a whole: a repetition that is counted to thousands makes a pattern of megabytes.
SshLine = Annotated[
    str,
    StringConstraints(
        max_length=4221,
        pattern=r"^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/=]{16,}( [ -~]{0,200})?$",
    ),
]
SliceAddresses = Annotated[
    list[Address],
    Field(max_length=1024, description="Addresses that slices on the host may have. Absent: an older agent."),
]
Version = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+_-]{0,49}$")]
Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
Configuration = Annotated[
    str,
    StringConstraints(max_length=65536, pattern=r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*$"),
    Field(
        description="Text of agent.json. It is recorded while no tenant has the whole host; a wipe restores it. Absent: an"
        " older agent."
    ),
]
ProgramDigest = Annotated[
    Sha256, Field(description="SHA-256 over the files of the agent's program, recorded like the configuration.")
]
AgentPublicKey = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9+/]{43}=$")]
Generation = Annotated[int, Field(ge=0, le=2**53 - 1)]
SmallNumber = Annotated[int, Field(ge=0, le=4096)]


class AgentCa(BaseModel):
    ca_pem: str = Field(description="PEM of the CA that enrolment bundles name.")
    anchors: list[str] = Field(description="PEM of every CA that is trusted now; several while the CA is rotated.")


class Enrol(Body):
    token: Annotated[str, StringConstraints(pattern="^[A-Za-z0-9_-]{20,200}$")] = Field(
        description="The token of the enrolment bundle."
    )
    public_key: AgentPublicKey = Field(
        description="The agent's Ed25519 key: base64 of the 32 raw bytes. It signs the agent's requests from now on."
    )
    hostname: Hostname
    address: Address = Field(description="Where people and controllers reach the host's sshd.")
    ssh_host_public_key: SshLine
    agent_version: Version
    slice_addresses: SliceAddresses | None = None
    configuration: Configuration | None = None
    agent_sha256: ProgramDigest | None = None


class TaskKey(BaseModel):
    kid: str
    public_key: str = Field(description="Base64 of the 32 raw bytes (Ed25519).")


class SignedAnchors(BaseModel):
    """The CAs that the agent trusts for TLS from now on."""

    document: str = Field(description="JSON text with `anchors` (PEM) and `issued_at_ms`.")
    kid: str = Field(description="Id of the task key that signed the document.")
    signature: str = Field(
        description="Ed25519 signature, base64, over `gpuaas-tls-anchors-v1\\n` and the document's bytes."
    )


class PlatformTrust(BaseModel):
    """Keys and authorities that an agent trusts. Every heartbeat renews them."""

    server_time: datetime = Field(description="The platform's clock, for comparison with the host's.")
    task_keys: list[TaskKey] = Field(description="The agent runs a task only if one of these keys signed it.")
    user_ca_keys: list[str] = Field(description="Authorities to trust for logins, as OpenSSH lines.")
    host_ca_keys: list[str] = Field(description="Authorities that sign host keys, as OpenSSH lines.")
    tls_anchors: SignedAnchors


class NodeKey(BaseModel):
    key_generation: int = Field(description="Number of the node's key, from 1.")
    key_expires_at: datetime | None = Field(
        description="When the key expires. Renew it before then. Null: the key does not expire yet."
    )


class NodeKeyRotate(Body):
    """A new key for the node. The current key signs the request, like every call."""

    public_key: AgentPublicKey = Field(description="The new Ed25519 key: base64 of the 32 raw bytes.")
    proof: Annotated[str, StringConstraints(pattern="^[A-Za-z0-9+/]{86}==$")] = Field(
        description="Ed25519 signature of the new key over `gpuaas-node-key-v1\\n` and the node's id, base64."
    )


class Enrolled(PlatformTrust, NodeKey):
    node_id: str
    poll_wait_seconds: int = Field(description="How long to wait for tasks in one poll.")


class ProvisionedAllocation(Body):
    allocation_id: AllocationId
    generation: Generation = Field(description="Generation of the last task that the agent began for the allocation.")


class AgentHeartbeat(Body):
    agent_version: Version
    boot_id: ReportedWord = Field(description="Boot id of the kernel. It changes when the host boots.")
    address: Address
    ssh_host_public_key: SshLine
    allocations: Annotated[list[ProvisionedAllocation], Field(max_length=64)] = Field(
        default=[],
        description="Allocations that are provisioned on the host. Those that should not be there get a task that ends them.",
    )
    slice_addresses: SliceAddresses | None = None
    tls_anchors: Annotated[list[Sha256], Field(max_length=16)] | None = Field(
        default=None,
        description="SHA-256 (DER) of the CAs that the agent trusts for TLS; empty where it uses no TLS. Absent: an older"
        " agent, which cannot learn another CA.",
    )
    configuration: Configuration | None = None
    agent_sha256: ProgramDigest | None = None


class NumaNode(Body):
    node: SmallNumber
    cpulist: Annotated[str, StringConstraints(pattern="^[0-9,-]{0,400}$")]


class HostFacts(Body):
    cpus: Annotated[int, Field(ge=0, le=65536)]
    memory_mib: Annotated[int, Field(ge=0, le=2**31)]
    kernel: ReportedWord
    numa_nodes: Annotated[list[NumaNode], Field(max_length=256)] = []


class InventorySlot(Body):
    slot_index: Annotated[int, Field(ge=0, le=1023)] = Field(
        description="Index of the GPU on the host. It never changes."
    )
    gpu_model: ReportedWord
    gpu_uuid: ReportedWord | None = None
    memory_mib: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    pci_address: Annotated[str, StringConstraints(pattern="^[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}[.][0-7]$")]
    numa_node: SmallNumber | None = None
    nvlink_group: SmallNumber | ReportedWord | None = Field(
        default=None, description="GPUs with the same value are linked by NVLink."
    )
    nvme_device: ReportedWord | None = Field(default=None, description="Drive that belongs to the GPU.")
    iommu_group: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    vf: ReportedObject | None = Field(default=None, description="Network function that belongs to the GPU.")


class InventoryWarning(Body):
    code: ReportedWord
    path: ReportedText
    message: ReportedText


class Inventory(Body):
    host: HostFacts
    slots: Annotated[list[InventorySlot], Field(max_length=64)]
    warnings: Annotated[list[InventoryWarning], Field(max_length=200)] = []


class Phase(Body):
    name: ReportedWord
    status: Literal["running", "succeeded", "failed", "skipped"]
    started_at: Moment | None = None
    finished_at: Moment | None = None
    detail: ReportedText | None = None


Phases = Annotated[list[Phase], Field(max_length=100)]


class TaskProgress(Body):
    generation: Generation = Field(description="Generation of the task.")
    phases: Phases


class TaskFailure(Body):
    code: ReportedWord
    message: ReportedText
    next_step: ReportedText = ""
    retryable: bool


class TaskResult(Body):
    generation: Generation = Field(description="Generation of the task.")
    status: Literal["succeeded", "failed", "refused"]
    phases: Phases = []
    result: ReportedObject = Field(default={}, description="Result, by kind of task.")
    evidence: ReportedObject = Field(default={}, description="Evidence of what the host found.")
    failure: TaskFailure | None = Field(
        default=None, description="Why the task failed or was refused; absent if it succeeded."
    )


class SignedTaskDocument(BaseModel):
    envelope: str = Field(description="JSON text. The signature is over `gpuaas-task-v1\\n` and these bytes.")
    kid: str = Field(description="Id of the platform's task key.")
    signature: str = Field(description="Ed25519 signature, base64.")


class TaskBatch(BaseModel):
    server_time: datetime
    tasks: list[SignedTaskDocument]


class HostCertificateRequest(Body):
    allocation_id: AllocationId | None = Field(
        description="An allocation that is claimed on this node. Null: the node's own sshd."
    )
    public_key: SshLine
    address: Address


class HostCertificate(BaseModel):
    certificate: str
    valid_before: datetime


class Acknowledged(BaseModel):
    server_time: datetime
