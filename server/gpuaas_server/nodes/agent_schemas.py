"""Wire types of the agent protocol (docs/reference/agent-protocol.md)."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import Body, Moment
from gpuaas_server.kernel.ids import AllocationId
from gpuaas_server.nodes.reported import ReportedObject, ReportedText, ReportedWord

Address = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9.:-]{0,251}[A-Za-z0-9])?$")]
Hostname = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$")]
SshLine = Annotated[
    str,
    StringConstraints(
        pattern=r"^(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/=]{16,4000}( [ -~]{0,200})?$"
    ),
]
Version = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9.+_-]{0,49}$")]
Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
AgentPublicKey = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9+/]{43}=$")]
Generation = Annotated[int, Field(ge=0, le=2**53 - 1)]
SmallNumber = Annotated[int, Field(ge=0, le=4096)]


class AgentCa(BaseModel):
    ca_pem: str = Field(description="PEM of the CA that enrolment bundles name.")
    anchors: list[str] = Field(description="PEM of every CA that is trusted now; several while the CA is rotated.")


class Enrol(Body):
    token: Annotated[str, StringConstraints(pattern="^[A-Za-z0-9_-]{20,200}$")] = Field(
        description="From the enrolment bundle."
    )
    public_key: AgentPublicKey = Field(
        description="The agent's Ed25519 key: base64 of the 32 raw bytes. Its requests are signed with it from now on."
    )
    hostname: Hostname
    address: Address = Field(description="Where people and controllers reach the host's sshd.")
    ssh_host_public_key: SshLine
    agent_version: Version


class TaskKey(BaseModel):
    kid: str
    public_key: str = Field(description="Base64 of the 32 raw bytes (Ed25519).")


class SignedAnchors(BaseModel):
    """The CAs to trust for TLS from now on."""

    document: str = Field(description="JSON text with `anchors` (PEM) and `issued_at_ms`.")
    kid: str = Field(description="Of the task key that signed it.")
    signature: str = Field(description="Ed25519, base64; over `gpuaas-tls-anchors-v1\\n` and the document's bytes.")


class PlatformTrust(BaseModel):
    """What an agent trusts; renewed with every heartbeat."""

    server_time: datetime = Field(description="The platform's clock, to judge one's own by.")
    task_keys: list[TaskKey] = Field(description="A task is obeyed when one of these signed it.")
    user_ca_keys: list[str] = Field(description="Trusted for logins, as OpenSSH lines.")
    host_ca_keys: list[str] = Field(description="Signing host keys, as OpenSSH lines.")
    tls_anchors: SignedAnchors


class NodeKey(BaseModel):
    key_generation: int = Field(description="Which key of the node it is, counted from 1.")
    key_expires_at: datetime | None = Field(description="Renew it before then; null: it has no end yet.")


class NodeKeyRotate(Body):
    """Signed with the current key, like every call."""

    public_key: AgentPublicKey = Field(description="The new Ed25519 key: base64 of the 32 raw bytes.")
    proof: Annotated[str, StringConstraints(pattern="^[A-Za-z0-9+/]{86}==$")] = Field(
        description="Ed25519 of the new key over `gpuaas-node-key-v1\\n` and the node's id, base64."
    )


class Enrolled(PlatformTrust, NodeKey):
    node_id: str
    poll_wait_seconds: int = Field(description="How long to wait for tasks in one poll.")


class HeldAllocation(Body):
    allocation_id: AllocationId
    generation: Generation = Field(description="Of the last task that the agent began for it.")


class Heartbeat(Body):
    agent_version: Version
    boot_id: ReportedWord = Field(description="Of the kernel; changes when the host boots.")
    address: Address
    ssh_host_public_key: SshLine
    allocations: Annotated[list[HeldAllocation], Field(max_length=64)] = Field(
        default=[], description="What is provisioned here; what should be gone is told to end."
    )
    tls_anchors: Annotated[list[Sha256], Field(max_length=16)] | None = Field(
        default=None,
        description="SHA-256 (DER) of the CAs that the agent trusts for TLS; none where it needs no TLS. Absent: of an"
        " older release, which cannot learn another.",
    )


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
        description="The GPU's number on the host; it stays the same."
    )
    gpu_model: ReportedWord
    gpu_uuid: ReportedWord | None = None
    memory_mib: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    pci_address: Annotated[str, StringConstraints(pattern="^[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}[.][0-7]$")]
    numa_node: SmallNumber | None = None
    nvlink_group: SmallNumber | ReportedWord | None = Field(
        default=None, description="GPUs with the same value are linked."
    )
    nvme_device: ReportedWord | None = Field(default=None, description="The drive that goes with the GPU.")
    iommu_group: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    vf: ReportedObject | None = Field(default=None, description="The network function that goes with the GPU.")


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
    generation: Generation = Field(description="Of the task.")
    phases: Phases


class TaskFailure(Body):
    code: ReportedWord
    message: ReportedText
    next_step: ReportedText = ""
    retryable: bool


class TaskResult(Body):
    generation: Generation = Field(description="Of the task.")
    status: Literal["succeeded", "failed", "refused"]
    phases: Phases = []
    result: ReportedObject = Field(default={}, description="By kind of task.")
    evidence: ReportedObject = Field(default={}, description="What was seen, as proof.")
    failure: TaskFailure | None = Field(default=None, description="Unless it succeeded.")


class SignedTaskDocument(BaseModel):
    envelope: str = Field(description="JSON text; the signature is over `gpuaas-task-v1\\n` and these bytes.")
    kid: str = Field(description="Of the platform's task key.")
    signature: str = Field(description="Ed25519, base64.")


class TaskBatch(BaseModel):
    server_time: datetime
    tasks: list[SignedTaskDocument]


class HostCertificateRequest(Body):
    allocation_id: AllocationId | None = Field(description="Claimed on this node; null: the node's own sshd.")
    public_key: SshLine
    address: Address


class HostCertificate(BaseModel):
    certificate: str
    valid_before: datetime


class Acknowledged(BaseModel):
    server_time: datetime
