"""Wire types of app usage."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.access.schemas import PublicKeyLine, SourceAddresses, SshCertificate
from gpuaas_server.kernel.http.schemas import Body, CorrelationId, Moment, examples
from gpuaas_server.kernel.ids import ProjectId

MOST_RECORDS = 1000
MOST_QUANTITY = 10**12

Metric = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_-]{0,39}$")]
SourceKey = Annotated[str, StringConstraints(pattern="^[!-~]{1,200}$")]
Subject = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]

SOURCE_KEY = "A key of your choice, unique within the instance. A repetition with the same key adds nothing."
SUBJECT = "What was used, in the app's own words, such as a job. Never a secret."


class UsageReport(Body):
    """One use, for one of the projects that the instance serves."""

    source_key: SourceKey = Field(description=SOURCE_KEY)
    project_id: ProjectId = Field(description="The instance's own project, or one that it serves or has served.")
    metric: Metric = Field(description="A key of the manifest's `metering`.")
    unit: Metric = Field(description="Unit of the quantity, as in the manifest.")
    quantity: Annotated[int, Field(ge=0, le=MOST_QUANTITY)] = Field(description="A whole number of units.")
    started_at: Moment
    ended_at: Moment = Field(description="The usage counts for the day (UTC) of this time.")
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
        description="Either all records are stored or none. A record that is stored already is not stored again."
    )


class UsageReported(BaseModel):
    instance_id: str
    recorded: int = Field(description="Number of records that this report added.")
    known: int = Field(description="Number of records that were stored already, with the same content.")


class UsageAccessCreate(Body):
    public_key: PublicKeyLine = Field(
        description="A public key that you made for this. The private key stays with you."
    )
    source_addresses: SourceAddresses = []


class UsageAccess(BaseModel):
    """Certificates that print what hosts have counted for one instance, whatever command is requested."""

    instance_id: str
    valid_before: datetime = Field(description="When all of these certificates expire.")
    certificates: list[SshCertificate] = Field(
        description="One certificate for each allocation of the instance that can be reached; its principal is the"
        " allocation's id."
    )


class UsageRecord(BaseModel):
    id: str
    project_id: str = Field(description="The project that the usage was for.")
    instance_id: str
    app_slug: str
    source_key: str = Field(description="The reporter's name for the record, unique within the instance.")
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
    """The sum of one metric of one instance within the requested days."""

    instance_id: str
    app_slug: str
    metric: str = Field(description="A key of the manifest's `metering`.")
    unit: str
    quantity: int = Field(description="The sum.")
    records: int = Field(description="Number of records in the sum.")


class UsageTotals(BaseModel):
    items: list[UsageTotal] = Field(description="Sums by instance, then by metric.")
    next_cursor: str | None = Field(description="Send as `after` for the next page; null on the last page.")
