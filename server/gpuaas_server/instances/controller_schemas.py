"""Wire types that an app's controller gets and sends about an instance and its members."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.instances.documents import Document
from gpuaas_server.instances.rows import ClosedDocument, ModeDocument
from gpuaas_server.kernel.http.schemas import Body, Generation, HealthStatus, examples
from gpuaas_server.kernel.ids import MemberId
from gpuaas_server.operations.schemas import EXAMPLE_LEASE, Leased, LeaseReport, Line, Operation, StepReport
from gpuaas_server.operations.service import ClosableKind

ReportedMemberStatus = Literal["ready", "degraded", "drained", "failed"]
Code = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_]{1,62}$")]
RuntimeKey = Annotated[str, StringConstraints(min_length=1, max_length=100)]
ModeName = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_-]{0,39}$")]


class ControllerAllocation(BaseModel):
    """The controller sees this of the allocation of a member. To log in, it requests machine access."""

    id: str
    name: str | None
    state: str
    shape: str = Field(description="`baremetal`: a whole host. `gpu_slice`: some GPUs of a host.")
    gpu_model: str
    gpu_count: int
    node_id: str
    project_id: str = Field(description="The project of the allocation: one of the instance's `projects`.")


class ControllerProject(BaseModel):
    """The controller sees this of a project that the instance serves."""

    project_id: str
    slug: str = Field(description="Slug of the project. It never changes.")
    home: bool = Field(description="Whether this is the instance's own project.")


class ControllerMember(BaseModel):
    id: str
    component_key: str = Field(description="A component of your manifest.")
    ordinal: int = Field(description="Number of the member in the instance. A number is never used twice.")
    status: str
    health: HealthStatus | None = Field(
        description="Health at the claim, by the member's status and its probes. A ready member is `unhealthy` while a probe of"
        " its host fails: what runs for it may hang, so restart it."
    )
    allocation: ControllerAllocation | None = Field(
        description="The allocation of the member; null when you may not see it any more."
    )
    adapter_detail: dict[str, object] | None = Field(description="What you reported last.")
    host_gone: bool = Field(description="Whether the allocation has ended, so that there is no host to work on.")
    concerned: bool = Field(description="Whether the operation works on the member.")


class ControllerVersion(BaseModel):
    version: str
    runtime_version: str | None = Field(description="Version of the runtime, which differs from the app's.")
    digest: str | None = Field(description="Digest of the artifact.")
    manifest: dict[str, object] = Field(description="The registered manifest.")


class ControllerInstance(BaseModel):
    id: str
    name: str
    app_slug: str
    status: str
    generation: Generation
    version: ControllerVersion = Field(
        description="The version that the instance runs or should run. For upgrade and rollback: the version before."
    )
    projects: list[ControllerProject] = Field(description="Projects that the instance serves, its own first.")
    inputs: dict[str, object] = Field(description="Inputs, as the manifest's `inputs` schema defines them.")
    placement_intent: list[dict[str, str]] = Field(description="Pairs of component_key and allocation_id.")
    runtime: dict[str, object] | None = Field(description="What you reported last.")
    access_bundle: dict[str, object] | None = Field(description="What you reported last.")
    created_at: datetime = Field(description="When the instance was created. Usage before it is refused.")


class ClaimedOperation(BaseModel):
    """The lease and the whole context: the work can begin without another call."""

    operation: Operation
    lease_token: str = Field(description="Proof of your lease. Send it with every report.")
    lease_until: datetime = Field(
        description="When the lease lapses. Report before then, or another replica gets the operation."
    )
    instance: ControllerInstance
    target_version: ControllerVersion | None = Field(description="For upgrade and rollback: the version to change to.")
    members: list[ControllerMember] = Field(
        description="All members of the instance; `concerned` marks those that the operation works on."
    )


class MemberReport(Body):
    member_id: MemberId
    status: ReportedMemberStatus | None = Field(
        default=None, description="Absent: the status stays as it was. Only the platform sets `removed`."
    )
    message: Line | None = Field(default=None, description="Why the member is degraded or failed.")
    adapter_detail: Document | None = Field(default=None, description="Opaque details for debugging; at most 16 KiB.")


Members = Annotated[list[MemberReport], Field(max_length=1000)]
RUNTIME = "Versions, endpoints and details of the running app; at most 64 KiB."
EXPECTED_RUNTIME = (
    "The runtime that you have read. If it is another one now, the report is refused as stale_generation."
)
ACCESS = "Exact commands, paths, endpoints and health examples for people; at most 64 KiB. Never a secret."
MODE = "Current mode of the instance, as you name it, and the operations that it does not allow. Absent: unchanged."


class ClosedKind(Body):
    """An operation that the mode does not allow. A request for it is refused immediately, with this message."""

    kind: ClosableKind
    component_key: Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_-]{0,62}$")] | None = Field(
        default=None, description="Only for members of this component. Absent: for all."
    )
    message: Line = Field(description="Why the operation is not allowed, for people.")
    next_step: Line = Field(description="What to request instead.")

    def document(self) -> ClosedDocument:
        return {
            "kind": self.kind,
            "component_key": self.component_key,
            "message": self.message,
            "next_step": self.next_step,
        }


class Mode(Body):
    """A mode of the app, such as on one host or on several, in the app's own words."""

    name: ModeName = Field(description="The app's name for the mode.")
    meaning: Line = Field(description="What the mode means, for people.")
    closed: Annotated[list[ClosedKind], Field(max_length=64)] = Field(
        default=[], description="Operations that the app does not allow in this mode."
    )

    def document(self) -> ModeDocument:
        return {"name": self.name, "meaning": self.meaning, "closed": [entry.document() for entry in self.closed]}


class OperationReport(LeaseReport):
    model_config = examples(
        {
            "lease_token": EXAMPLE_LEASE,
            "steps": [{"name": "hub/install", "status": "succeeded"}, {"name": "hub/start", "status": "running"}],
            "progress": {"percent": 40, "message": "The hub starts."},
        }
    )

    runtime: Document | None = Field(
        default=None, description=f"{RUNTIME} It is stored now, however the operation ends. Absent: unchanged."
    )
    expected_runtime: Document | None = Field(default=None, description=EXPECTED_RUNTIME)


class OperationComplete(Leased):
    model_config = examples(
        {
            "lease_token": EXAMPLE_LEASE,
            "steps": [{"name": "hub/start", "status": "succeeded"}],
            "runtime": {"versions": {"echod": "1"}, "endpoints": [{"name": "talk", "address": "10.0.0.7:7007"}]},
            "access_bundle": {"commands": {"talk": "nc 10.0.0.7 7007"}},
        }
    )

    steps: Annotated[list[StepReport], Field(max_length=100)] = Field(
        default=[], description="Steps that began or changed since the last report."
    )
    members: Members = Field(
        default=[],
        description="Members whose status differs from what success implies, or whose `adapter_detail` changed.",
    )
    runtime: Document | None = Field(default=None, description=RUNTIME)
    runtime_kept: Annotated[list[RuntimeKey], Field(max_length=20)] = Field(
        default=[],
        description="Keys of the runtime that keep the values that they have now: others may have changed them meanwhile.",
    )
    access_bundle: Document | None = Field(default=None, description=ACCESS)
    mode: Mode | None = Field(default=None, description=MODE)


class FailureReport(Body):
    code: Code = Field(description="A code of your choice. Keep it stable.")
    message: Line = Field(description="What failed, for people.")
    next_step: Line | None = Field(default=None, description="What the person should do. Absent: read the steps.")
    retryable: bool = Field(default=False, description="Whether a retry may succeed.")


class OperationFail(Leased):
    model_config = examples(
        {
            "lease_token": EXAMPLE_LEASE,
            "failure": {
                "code": "port_taken",
                "message": "Port 7007 is taken by another program.",
                "next_step": "Stop what listens there, then ask for the deploy again.",
                "retryable": True,
            },
            "steps": [{"name": "hub/start", "status": "failed", "message": "Address already in use."}],
        }
    )

    failure: FailureReport
    steps: Annotated[list[StepReport], Field(max_length=100)] = Field(
        default=[], description="Steps that began or changed since the last report."
    )
    members: Members = Field(
        default=[], description="What you know of the members. The platform decides the status of the others."
    )


class ServedInstance(BaseModel):
    """A running instance, as its controller lists it."""

    id: str
    tenant_id: str
    project_id: str = Field(description="Project of the instance; use it in the path of further calls.")
    name: str
    app_slug: str
    version: str
    status: str
    operation_id: str | None = Field(description="Live operation on the whole instance; null if there is none.")
    generation: int
