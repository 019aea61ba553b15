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

    columns: int = Field(default=80, ge=1, le=MOST_COLUMNS, description="Width of the window in characters.")
    rows: int = Field(default=24, ge=1, le=MOST_ROWS, description="Height of the window in lines.")


class Terminal(BaseModel):
    """A shell in an allocation. Input and output are never stored."""

    id: str
    project_id: str
    allocation_id: str
    status: TerminalStatus
    stream: str = Field(
        description="Path of the WebSocket. Only the person who opened the terminal can connect, once. Binary frames are bytes"
        ' in both directions. Text frames are JSON: you send `{"type": "resize", "columns", "rows"}`; you receive'
        ' `{"type": "opened"}` and `{"type": "ended", "reason", "exit_status", "message"}`, after which it closes.'
    )
    opened_by: str = Field(description="Id of the user or service account.")
    address: str = Field(description="Network address of the request.")
    created_at: datetime
    open_by: datetime = Field(description="The host and the WebSocket must be connected by then, or the terminal ends.")
    opened_at: datetime | None = Field(description="When the shell started.")
    idle_timeout_s: int = Field(description="The terminal ends after so many seconds without input and output.")
    ends_at: datetime | None = Field(description="Latest end of the terminal; null until it is open.")
    ended_at: datetime | None
    reason: EndReason | None = Field(description="Why the terminal ended.")
    message: str | None = Field(description="Why the terminal ended, for people.")
    exit_status: int | None = Field(description="Exit status of the shell, if the shell ended by itself.")
    bytes_in: int = Field(description="Bytes of input, counted at the end.")
    bytes_out: int = Field(description="Bytes of output, counted at the end.")
    correlation_id: CorrelationId
    allowed_actions: AllowedActions
