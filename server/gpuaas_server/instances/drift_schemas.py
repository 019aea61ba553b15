"""Wire types of drift: what differs from what is wanted, and what the platform does about it."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from gpuaas_server.kernel.http.schemas import Body

ReconcilePolicy = Literal["off", "notify", "auto"]
POLICY = (
    "What the platform does when members drift: nothing (`off`), it tells (`notify`), or it requests a `reconcile` itself"
    " (`auto`), at most three in an hour, with growing pauses."
)


class InstanceUpdate(Body):
    reconcile_policy: ReconcilePolicy = Field(
        description=f"{POLICY} Setting it, even to its present value, resumes attempts that had stopped."
    )


class DriftMember(BaseModel):
    member_id: str
    component_key: str
    code: str = Field(
        description="`member_failed`, `member_degraded`, `probe_failing`, or the code of a failed attempt."
    )
    message: str = Field(description="An explanation for people.")


class InstanceDrift(BaseModel):
    """Members that are not as they should be and that a reconcile could mend, and what the platform does about it."""

    state: Literal["noticed", "blocked", "scheduled", "reconciling", "stopped"] = Field(
        description="`noticed`: it is only told. `blocked`: a reconcile could not be carried out now. `scheduled`: one is"
        " requested at `next_attempt_at`. `reconciling`: one is live. `stopped`: a person has to act."
    )
    message: str = Field(description="An explanation for people.")
    next_step: str | None = Field(description="What a person should do next; null while the platform acts.")
    code: str | None = Field(description="Why it is `blocked` or `stopped`: a stable code.")
    noticed_at: datetime = Field(description="Since when there is drift.")
    members: list[DriftMember] = Field(description="The members that drifted; at most 50 are named.")
    attempts: list[datetime] = Field(description="When the platform requested a reconcile in the last hour.")
    attempts_left: int = Field(description="How many more it may request within the hour.")
    next_attempt_at: datetime | None = Field(description="When the next reconcile is requested.")
    operation_id: str | None = Field(description="The newest reconcile that the platform requested.")
