"""Wire types of terminals."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from gpuaas_server.kernel.http.schemas import AllowedActions, Body, CorrelationId, examples

TerminalStatus = Literal["requested", "open", "ended"]
EndReason = Literal[
    "exited", "idle", "max_time", "closed", "host_lost", "released", "access_lost", "interrupted", "not_opened"
]
MOST_COLUMNS, MOST_ROWS = 1000, 1000


class TerminalOpen(Body):
    model_config = examples({"columns": 120, "rows": 40})

    columns: int = Field(default=80, ge=1, le=MOST_COLUMNS, description="Width of the window, in characters.")
    rows: int = Field(default=24, ge=1, le=MOST_ROWS, description="Height of the window, in lines.")


class Terminal(BaseModel):
    """A shell in an allocation. What is typed and shown is never kept."""

    id: str
    project_id: str
    allocation_id: str
    status: TerminalStatus
    stream: str = Field(
        description="Path of the WebSocket, for the one who opened it, once. Binary frames are bytes, both ways. Text frames"
        ' are JSON: you send `{"type": "resize", "columns", "rows"}`; you get `{"type": "opened"}` and'
        ' `{"type": "ended", "reason", "exit_status", "sentence"}`, after which it closes.'
    )
    opened_by: str = Field(description="Id of the user or service account.")
    address: str = Field(description="From where it was asked for.")
    created_at: datetime
    open_by: datetime = Field(description="Both the host and the stream must be there by then, or it ends.")
    opened_at: datetime | None = Field(description="When the shell answered.")
    idle_timeout_s: int = Field(description="It ends when for so long nothing is typed and nothing shown.")
    ends_at: datetime | None = Field(description="It ends then at the latest; null until it is open.")
    ended_at: datetime | None
    reason: EndReason | None = Field(description="Why it ended.")
    sentence: str | None = Field(description="The same for a person.")
    exit_status: int | None = Field(description="Of the shell, when that ended by itself.")
    bytes_in: int = Field(description="Typed, or sent. Counted at the end.")
    bytes_out: int = Field(description="Shown. Counted at the end.")
    correlation_id: CorrelationId
    allowed_actions: AllowedActions
