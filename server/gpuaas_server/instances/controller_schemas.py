"""Wire types that an app's controller gets and sends about an instance and its members."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.instances.documents import Document
from gpuaas_server.instances.rows import ClosedDocument, ModeDocument
from gpuaas_server.kernel.http.schemas import Body, Generation, examples
from gpuaas_server.kernel.ids import MemberId
from gpuaas_server.operations.schemas import EXAMPLE_LEASE, Leased, Line, Operation, StepReport
from gpuaas_server.operations.service import ClosableKind

ReportedMemberStatus = Literal["ready", "degraded", "drained", "failed"]
Code = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_]{1,62}$")]
ModeName = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_-]{0,39}$")]


class ControllerAllocation(BaseModel):
    """What a controller may know of the machine below a member. The way in is asked for with machine-access."""

    id: str
    name: str | None
    state: str
    shape: str = Field(description="`baremetal`: a whole host. `gpu_slice`: some GPUs of a host.")
    gpu_model: str
    gpu_count: int
    node_id: str
    project_id: str = Field(description="Whose it is: one of the instance's `projects`.")


class ControllerProject(BaseModel):
    """A project that the instance serves: all that its controller may know of it."""

    project_id: str
    slug: str = Field(description="It never changes.")
    home: bool = Field(description="The instance's own project.")


class ControllerMember(BaseModel):
    id: str
    component_key: str = Field(description="The component of your manifest.")
    ordinal: int = Field(description="Its number in the instance, never given twice.")
    status: str
    allocation: ControllerAllocation | None = Field(
        description="The machine below it; null when it can not be seen any more."
    )
    adapter_detail: dict[str, object] | None = Field(description="What you reported last.")
    host_gone: bool = Field(description="Its allocation has ended: there is no machine to work on.")
    concerned: bool = Field(description="Whether the operation works on it.")


class ControllerVersion(BaseModel):
    version: str
    runtime_version: str | None = Field(description="The runtime's own version, which is not the app's.")
    digest: str | None = Field(description="Of the artifact.")
    manifest: dict[str, object] = Field(description="As it was registered.")


class ControllerInstance(BaseModel):
    id: str
    name: str
    app_slug: str
    status: str
    generation: Generation
    version: ControllerVersion = Field(
        description="What it runs, or should run; of upgrade and rollback, where it comes from."
    )
    projects: list[ControllerProject] = Field(description="The projects that it serves, its own first.")
    inputs: dict[str, object] = Field(description="By the manifest's `inputs` schema.")
    placement_intent: list[dict[str, str]] = Field(description="Pairs of component_key and allocation_id.")
    runtime: dict[str, object] | None = Field(description="What you reported last.")
    access_bundle: dict[str, object] | None = Field(description="What you reported last.")


class ClaimedOperation(BaseModel):
    """The lease, and the whole context: nothing else has to be asked for before the work begins."""

    operation: Operation
    lease_token: str = Field(description="Proves that the work is yours; send it with every report.")
    lease_until: datetime = Field(description="Report before then, or another replica gets it.")
    instance: ControllerInstance
    target_version: ControllerVersion | None = Field(description="Of upgrade and rollback.")
    members: list[ControllerMember] = Field(
        description="All members, not only those that it works on: see `concerned`."
    )


class MemberReport(Body):
    member_id: MemberId
    status: ReportedMemberStatus | None = Field(
        default=None, description="Absent: as it was. `removed` is for the platform to say."
    )
    message: Line | None = Field(default=None, description="Why it is degraded or failed.")
    adapter_detail: Document | None = Field(default=None, description="Opaque, for debugging; at most 16 KiB.")


Members = Annotated[list[MemberReport], Field(max_length=1000)]
RUNTIME = "Versions, endpoints, detail of the running app; at most 64 KiB."
ACCESS = "Exact commands, paths, endpoints and health examples for people; at most 64 KiB. Never a secret."
MODE = "The form that the instance has now, as you name it, and what you do not take in it. Absent: as it was."


class ClosedKind(Body):
    """What would come to nothing: whoever asks for it is refused at once, with these words."""

    kind: ClosableKind
    component_key: Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_-]{0,62}$")] | None = Field(
        default=None, description="Only of members of this component; absent: of all."
    )
    message: Line = Field(description="For a person: why it is not taken.")
    next_step: Line = Field(description="What the person should ask for instead.")

    def document(self) -> ClosedDocument:
        return {
            "kind": self.kind,
            "component_key": self.component_key,
            "message": self.message,
            "next_step": self.next_step,
        }


class Mode(Body):
    """A form of the app, such as on one machine or on many, in the app's own words."""

    name: ModeName = Field(description="The app's name for the form.")
    meaning: Line = Field(description="For a person: what this form is.")
    closed: Annotated[list[ClosedKind], Field(max_length=64)] = Field(
        default=[], description="What the app does not take in this form."
    )

    def document(self) -> ModeDocument:
        return {"name": self.name, "meaning": self.meaning, "closed": [entry.document() for entry in self.closed]}


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
        default=[], description="Those that began or changed since the last report."
    )
    members: Members = Field(
        default=[], description="Those that are not what success makes of them, or have news in `adapter_detail`."
    )
    runtime: Document | None = Field(default=None, description=RUNTIME)
    access_bundle: Document | None = Field(default=None, description=ACCESS)
    mode: Mode | None = Field(default=None, description=MODE)


class FailureReport(Body):
    code: Code = Field(description="Yours to choose, and to keep stable.")
    message: Line = Field(description="For a person: what did not work.")
    next_step: Line | None = Field(default=None, description="What the person should do. Absent: to read the steps.")
    retryable: bool = Field(default=False, description="Whether asking for the same again may succeed.")


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
        default=[], description="Those that began or changed since the last report."
    )
    members: Members = Field(
        default=[], description="What is known of them. The platform judges the others: none stays in between."
    )
