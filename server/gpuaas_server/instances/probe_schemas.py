"""Wire types of probe reports, which agents send (docs/reference/agent-protocol.md)."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import Body, Moment
from gpuaas_server.kernel.ids import MemberId

MOST_MEMBERS = 64
MOST_PROBES = 8


class ReportedProbe(Body):
    key: Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_-]{0,39}$")]
    status: Literal["pending", "passing", "failing"]
    since: Moment = Field(description="When the status last changed, by the host's clock.")
    answer: Annotated[str, StringConstraints(max_length=200)] = Field(description="What the last run got; plain text.")


class MemberProbes(Body):
    member_id: MemberId
    generation: Annotated[int, Field(ge=1, le=2**53 - 1)] = Field(
        description="Generation of the task that named the probes."
    )
    probes: Annotated[list[ReportedProbe], Field(max_length=MOST_PROBES)]


class ProbeReport(Body):
    members: Annotated[list[MemberProbes], Field(max_length=MOST_MEMBERS)]


class ProbeReportAccepted(BaseModel):
    server_time: datetime
    ended: list[str] = Field(description="Members whose probes the host need not run any more.")
