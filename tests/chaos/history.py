"""The history of the clients' requests: every attempt with its key, replica, times and answer."""

import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

JsonObject = dict[str, object]
# Temporary refusals: nothing was decided, and the same request is sent again.
UNDECIDED = frozenset({"idempotency_in_progress", "unavailable", "rate_limited", "internal", "storage_unavailable"})


@dataclass(slots=True)
class Attempt:
    """One attempt. `status` None: no answer came, and its outcome is unknown."""

    replica: str
    started: float
    ended: float = 0.0
    status: int | None = None
    code: str = ""
    body: JsonObject = field(default_factory=dict)

    @property
    def decided(self) -> bool:
        return self.status is not None and self.status < 500 and self.code not in UNDECIDED


@dataclass(slots=True)
class Request:
    """One request under one key, with all its attempts."""

    id: str  # also the name of what it makes, where that has one
    kind: str  # the operationId
    client: str
    method: str
    path: str
    body: JsonObject
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def key(self) -> str:
        return f"key-{self.id}"

    @property
    def answer(self) -> Attempt | None:
        """The first decisive answer."""
        return next((attempt for attempt in self.attempts if attempt.decided), None)

    @property
    def accepted(self) -> bool:
        return self.answer is not None and (self.answer.status or 0) < 300

    @property
    def refused(self) -> bool:
        return self.answer is not None and (self.answer.status or 0) >= 400


class History:
    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._numbers = itertools.count(1)

    def begin(self, kind: str, client: str, method: str, path: str, body: JsonObject) -> Request:
        """`{id}` in the body's texts becomes the request's own id."""
        request_id = f"{client}-{next(self._numbers)}"
        named = {
            key: value.replace("{id}", request_id) if isinstance(value, str) else value for key, value in body.items()
        }
        request = Request(request_id, kind, client, method, path, named)
        self.requests.append(request)
        return request

    def attempt(self, request: Request, replica: str) -> Attempt:
        attempt = Attempt(replica, time.monotonic())
        request.attempts.append(attempt)
        return attempt

    def of(self, *kinds: str) -> Iterator[Request]:
        return (request for request in self.requests if request.kind in kinds)

    def write(self, file: Path) -> None:
        with file.open("w") as opened:
            for request in self.requests:
                opened.write(json.dumps(asdict(request)) + "\n")

    def summary(self) -> str:
        """Summarize the history in one line."""
        attempts = [attempt for request in self.requests for attempt in request.attempts]
        accepted = sum(request.accepted for request in self.requests)
        refused = sum(request.refused for request in self.requests)
        unanswered = sum(attempt.status is None for attempt in attempts)
        return (
            f"{len(self.requests)} requests ({accepted} accepted, {refused} refused,"
            f" {len(self.requests) - accepted - refused} undecided) in {len(attempts)} attempts, {unanswered} unanswered"
        )
