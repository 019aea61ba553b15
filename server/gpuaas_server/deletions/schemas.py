"""Wire types of deletions and exports. The place itself shows `delete_after`."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

WaitStage = Literal["leftovers", "artifacts", "secrets", "failing", "worker"]

NDJSON = "application/x-ndjson"
EXPORT: dict[str, object] = {
    "description": "One JSON object per line, with `kind` and `data`. The last line is of kind `end` and counts the objects"
    " of each kind: an export without it is incomplete.",
    "content": {NDJSON: {"schema": {"type": "string", "format": "binary"}}},
}


class DeletionWait(BaseModel):
    stage: WaitStage = Field(
        description="What the deletion waits for. `leftovers`: something in the tenant or project is still alive."
        " `artifacts`, `secrets`: a store has not removed its part. `failing`: the last attempt failed. `worker`: no worker"
        " has continued it."
    )
    since: datetime = Field(description="When the deletion last made progress.")
    why: str = Field(description="What is still there, or the error of the last attempt.")
    next_step: str = Field(description="What an operator can do.")


class Deletion(BaseModel):
    """The deletion of a project, or without one of the whole tenant, that has not ended."""

    id: str
    tenant_id: str
    tenant_slug: str | None
    project_id: str | None = Field(description="Null: the whole tenant is deleted.")
    project_slug: str | None
    state: Literal["scheduled", "purging"] = Field(
        description="A `scheduled` deletion can be undone; a `purging` one removes data."
    )
    requested_by: str = Field(description="Id of the user who asked for the deletion.")
    requested_at: datetime
    delete_after: datetime | None = Field(description="When the grace period ends.")
    removed: dict[str, int] = Field(description="Number of removed rows, by table.")
    wait: DeletionWait | None = Field(description="What the deletion waits for. Null while it makes progress.")
    stuck: bool = Field(description="The deletion has made no progress for ten minutes and needs an operator.")
