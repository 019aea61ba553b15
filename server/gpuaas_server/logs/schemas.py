"""Wire types of logs."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import Body

Level = Literal["emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"]
LEVELS: tuple[Level, ...] = ("emergency", "alert", "critical", "error", "warning", "notice", "info", "debug")
Order = Literal["newest", "oldest"]
CURSOR_PATTERN = "^[a-z]=[0-9a-f]{1,40}(;[a-z]=[0-9a-f]{1,40}){1,9}$"
SOURCE_PATTERN = "^[A-Za-z0-9][A-Za-z0-9:_.@-]{0,220}$"
LONGEST_TEXT = 4096
MOST_LINES = 500
Cursor = Annotated[str, StringConstraints(pattern=CURSOR_PATTERN)]


class LogLine(BaseModel):
    """A line of a member's log. Its host wrote it: control characters are replaced, and known forms of secrets are masked."""

    cursor: str = Field(description="Position of the line in the host's journal.")
    at: datetime = Field(description="When the host's journal received the line, by the host's clock.")
    member_id: str
    source: str = Field(description="The unit that wrote the line.")
    level: Level | None
    text: str
    cut: bool = Field(description="Whether the line was longer than is shown.")


class LogPage(BaseModel):
    """A page of lines, always in the order of time."""

    member_id: str
    lines: list[LogLine]
    next_cursor: str | None = Field(
        description="Send as `cursor` with the same `order` for the next page; null when there is no more."
    )
    newest_cursor: str | None = Field(
        description="Position of the newest line of this page: follow from here. Null for an empty page."
    )
    left_out: int = Field(description="Lines that were not shown because there were too many at once.")


class PortionLine(Body):
    cursor: Cursor
    at: int = Field(ge=0, lt=10**18, description="Microseconds since the epoch.")
    source: str = Field(max_length=255)
    text: str = Field(max_length=LONGEST_TEXT)
    priority: int | None = Field(ge=0, le=7)
    cut: bool


class LogPortion(Body):
    """Lines that an agent brings for a reader."""

    ticket: str = Field(max_length=2000, pattern="^[0-9a-f]+$", description="From the task, unchanged.")
    lines: list[PortionLine] = Field(max_length=MOST_LINES)
    left_out: int = Field(ge=0, lt=10**9)
    more: bool = Field(description="Whether there are further lines in the order that was asked for.")


class LogPortionAccepted(BaseModel):
    watched: bool = Field(description="Whether somebody still reads. If not, the agent stops following.")
