"""Describes what an instance keeps of its drift: what was noticed, what was tried, and why it stopped."""

from datetime import datetime, timedelta
from typing import TypedDict

from gpuaas_server.kernel.dataclass import dataclass

WINDOW = timedelta(hours=1)
FIRST_PAUSE = timedelta(seconds=5)  # from the notice to the first attempt: what passes by itself needs none
BACK_OFF = timedelta(
    minutes=1
)  # from the end of the first attempt to the second; each further pause is four times as long


class DriftedMember(TypedDict):
    """A member that is not as it should be, and that a reconcile could mend."""

    member_id: str
    component_key: str
    code: str
    message: str


class ObstacleDocument(TypedDict):
    """The document says why no reconcile is requested: for now, or until a person acts."""

    code: str
    message: str
    next_step: str


class DriftDocument(TypedDict):
    """Drift as a JSON column keeps it. Times are texts, since JSON has no type for them."""

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


@dataclass(frozen=True, slots=True)
class Drift:
    """Holds what is known of the drift of one instance, and of the attempts to mend it."""

    revision: int = 0
    noticed_at: datetime | None = None
    cleared_at: datetime | None = None
    members: tuple[DriftedMember, ...] = ()
    attempts: tuple[datetime, ...] = ()
    streak: int = 0
    operation_id: str | None = None
    last_operation_id: str | None = None
    ended_at: datetime | None = None
    next_attempt_at: datetime | None = None
    blocked: ObstacleDocument | None = None
    stopped: ObstacleDocument | None = None

    @classmethod
    def of(cls, document: DriftDocument | None) -> "Drift":
        if document is None:
            return cls()
        return cls(
            revision=document["revision"],
            noticed_at=_time(document["noticed_at"]),
            cleared_at=_time(document["cleared_at"]),
            members=tuple(document["members"]),
            attempts=tuple(datetime.fromisoformat(at) for at in document["attempts"]),
            streak=document["streak"],
            operation_id=document["operation_id"],
            last_operation_id=document["last_operation_id"],
            ended_at=_time(document["ended_at"]),
            next_attempt_at=_time(document["next_attempt_at"]),
            blocked=document["blocked"],
            stopped=document["stopped"],
        )

    def document(self) -> DriftDocument:
        return {
            "revision": self.revision,
            "noticed_at": _text(self.noticed_at),
            "cleared_at": _text(self.cleared_at),
            "members": list(self.members),
            "attempts": [at.isoformat() for at in self.attempts],
            "streak": self.streak,
            "operation_id": self.operation_id,
            "last_operation_id": self.last_operation_id,
            "ended_at": _text(self.ended_at),
            "next_attempt_at": _text(self.next_attempt_at),
            "blocked": self.blocked,
            "stopped": self.stopped,
        }

    def recent(self, now: datetime) -> tuple[datetime, ...]:
        """Return the attempts that count against the budget."""
        return tuple(at for at in self.attempts if at > now - WINDOW)

    def due_at(self) -> datetime | None:
        """Return when the next attempt may begin; None while there is no drift."""
        if self.noticed_at is None:
            return None
        first = self.noticed_at + FIRST_PAUSE
        if self.streak == 0 or self.ended_at is None:
            return first
        return max(first, self.ended_at + pause_after(self.streak))


def pause_after(streak: int) -> timedelta:
    """Return the pause after so many attempts in a row."""
    pause: timedelta = BACK_OFF * 4 ** (streak - 1)
    return min(pause, WINDOW)


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _text(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
