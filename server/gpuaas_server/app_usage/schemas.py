"""Wire types of app usage."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import Body, CorrelationId, Moment, examples
from gpuaas_server.kernel.ids import ProjectId

MOST_RECORDS = 1000
MOST_QUANTITY = 10**12

Metric = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_-]{0,39}$")]
SourceKey = Annotated[str, StringConstraints(pattern="^[!-~]{1,200}$")]
Subject = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]

SOURCE_KEY = "Yours, and the same for the same thing at every repetition: a record is known by it within its instance."
SUBJECT = "What it was for, in the app's own words, such as a job; never a secret."


class UsageReport(Body):
    """One thing that was used, for one of the projects that the instance serves."""

    source_key: SourceKey = Field(description=SOURCE_KEY)
    project_id: ProjectId = Field(description="The instance's own, or one that it serves or has served.")
    metric: Metric = Field(description="A key of the manifest's `metering`.")
    unit: Metric = Field(description="As the manifest says: whoever adds up must know what.")
    quantity: Annotated[int, Field(ge=0, le=MOST_QUANTITY)] = Field(description="A count of units, always a whole one.")
    started_at: Moment
    ended_at: Moment = Field(description="It counts for the day, in UTC, in which it ended.")
    subject: Subject | None = Field(default=None, description=SUBJECT)


class UsageBatch(Body):
    model_config = examples(
        {
            "records": [
                {
                    "source_key": "main/17.1763200000/echoes",
                    "project_id": "prj_01jd2m8k4t7w9x3c5v6b1n2q0a",
                    "metric": "echoes",
                    "unit": "count",
                    "quantity": 40,
                    "started_at": "2026-11-15T10:00:00Z",
                    "ended_at": "2026-11-15T10:05:00Z",
                    "subject": "talk 17",
                }
            ]
        }
    )
    records: Annotated[list[UsageReport], Field(min_length=1, max_length=MOST_RECORDS)] = Field(
        description="All of them are recorded, or none; those that are known already are not recorded again."
    )


class UsageReported(BaseModel):
    instance_id: str
    recorded: int = Field(description="How many records this report has added.")
    known: int = Field(description="How many were there already, with the same content.")


class UsageRecord(BaseModel):
    id: str
    project_id: str = Field(description="Whom it was for.")
    instance_id: str
    app_slug: str
    source_key: str = Field(description="The reporter's own name for it, unique within the instance.")
    metric: str = Field(description="A key of the manifest's `metering`.")
    unit: str
    quantity: int
    started_at: datetime
    ended_at: datetime
    subject: str | None = Field(description=SUBJECT)
    reported_by: str = Field(description="Id of the service account.")
    correlation_id: CorrelationId
    recorded_at: datetime


class UsageTotal(BaseModel):
    """Of one instance and metric, within the days asked for."""

    instance_id: str
    app_slug: str
    metric: str = Field(description="A key of the manifest's `metering`.")
    unit: str
    quantity: int = Field(description="The sum.")
    records: int = Field(description="How many records make it.")


class UsageTotals(BaseModel):
    items: list[UsageTotal] = Field(description="By instance, then by metric.")
    next_cursor: str | None = Field(description="Send as `after` for the next page; null on the last one.")
