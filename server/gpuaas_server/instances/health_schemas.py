"""Wire types of what a controller reports about the health of its app."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from gpuaas_server.instances.controller_schemas import ACCESS, EXPECTED_RUNTIME, MODE, RUNTIME, Code, Mode
from gpuaas_server.instances.documents import Document
from gpuaas_server.instances.rows import ReasonDocument
from gpuaas_server.instances.schemas import HealthReason, InstanceStatus
from gpuaas_server.kernel.http.schemas import Body, Generation, HealthStatus, examples
from gpuaas_server.kernel.ids import MemberId
from gpuaas_server.operations.schemas import Line


class MemberHealth(Body):
    member_id: MemberId
    status: Literal["ready", "degraded", "failed"]
    message: Line | None = Field(default=None, description="Why the member is degraded or failed.")
    adapter_detail: Document | None = Field(default=None, description="Opaque details for debugging; at most 16 KiB.")


class ReasonReport(Body):
    code: Code = Field(description="A code of your choice. Keep it stable.")
    message: Line = Field(description="An explanation for people.")
    member_id: MemberId | None = Field(default=None, description="The member concerned, if it is one.")

    def document(self) -> ReasonDocument:
        reason: ReasonDocument = {"code": self.code, "message": self.message}
        if self.member_id is not None:
            reason["member_id"] = self.member_id
        return reason


class HealthReport(Body):
    """The controller reports this on its own schedule."""

    model_config = examples(
        {
            "status": "degraded",
            "generation": 7,
            "reasons": [
                {
                    "code": "relay_silent",
                    "message": "Relay 2 does not answer.",
                    "member_id": "mem_01jd2m8k4t7w9x3c5v6b1n2q0d",
                }
            ],
            "members": [
                {"member_id": "mem_01jd2m8k4t7w9x3c5v6b1n2q0d", "status": "degraded", "message": "No answer for 30 s."}
            ],
        }
    )
    status: HealthStatus | None = Field(
        default=None,
        description="Health of the whole app, as you see it. Absent: you have not looked at it, and what was known stays.",
    )
    generation: Annotated[int, Field(ge=1, le=2**53)] = Field(
        description="Generation of the instance when you looked. An older one is refused as stale_generation."
    )
    reasons: Annotated[list[ReasonReport], Field(max_length=20)] = Field(
        default=[], description="Why the instance is not healthy."
    )
    members: Annotated[list[MemberHealth], Field(max_length=1000)] = Field(
        default=[], description="The members that you have checked."
    )
    runtime: Document | None = Field(default=None, description=RUNTIME)
    expected_runtime: Document | None = Field(default=None, description=EXPECTED_RUNTIME)
    access_bundle: Document | None = Field(default=None, description=ACCESS)
    mode: Mode | None = Field(default=None, description=MODE)


class HealthAccepted(BaseModel):
    instance_id: str
    status: InstanceStatus
    health: HealthStatus = Field(description="Health that the platform derived; members and operations count too.")
    health_reasons: list[HealthReason] = Field(description="Why the instance is not healthy; empty when it is.")
    generation: Generation
