"""What an instance keeps of its drift: what was noticed, what was tried, and why it stopped."""

from typing import TypedDict


class DriftedMember(TypedDict):
    """A member that is not as it should be, and that a reconcile could mend."""

    member_id: str
    component_key: str
    code: str
    message: str


class ObstacleDocument(TypedDict):
    """Why no reconcile is requested: for now, or until a person acts."""

    code: str
    message: str
    next_step: str


class DriftDocument(TypedDict):
    """Times are texts, as JSON has no others."""

    revision: int  # of the work row that decides; an older one is ignored
    noticed_at: str | None  # null: there is no drift
    cleared_at: str | None  # when the last drift was gone
    members: list[DriftedMember]
    attempts: list[str]  # when reconciles were requested, of the last window
    streak: int  # attempts since the instance was last well for a while
    operation_id: str | None  # the attempt that is live
    last_operation_id: str | None
    ended_at: str | None  # when the last attempt ended
    next_attempt_at: str | None
    blocked: ObstacleDocument | None
    stopped: ObstacleDocument | None
