"""The types of the agent protocol: task envelopes, phases, results.

Parsing is strict about types and ignores unknown fields, so that the server may add fields.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

TASK_SIGNATURE_PREFIX = b"gpuaas-task-v1\n"
TASK_ID = re.compile(r"^[a-z]{2,8}_[A-Za-z0-9_-]{1,64}$")

PhaseStatus = Literal["running", "succeeded", "failed", "skipped"]
ResultStatus = Literal["succeeded", "failed", "refused"]


class EnvelopeInvalid(Exception):
    """A task cannot be trusted or parsed; it is never run."""


@dataclass(frozen=True)
class SignedTask:
    """A task as received; it is stored unchanged, so that its signature can be verified again."""

    envelope: str
    kid: str
    signature: str


@dataclass(frozen=True)
class Envelope:
    task_id: str
    node_id: str
    kind: str
    resource_id: str
    generation: int
    deadline: datetime
    correlation_id: str
    traceparent: str
    spec: dict[str, object]


@dataclass
class Phase:
    name: str
    status: PhaseStatus
    started_at: str
    finished_at: str | None = None
    detail: str = ""

    def wire(self) -> dict[str, object]:
        return {
            "name": self.name,
            "status": self.status,
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "detail": self.detail,
        }


@dataclass(frozen=True)
class Failure:
    code: str
    message: str
    next_step: str
    retryable: bool

    def wire(self) -> dict[str, object]:
        return {
            "code": self.code,
            "message": self.message,
            "next_step": self.next_step,
            "retryable": self.retryable,
        }


@dataclass(frozen=True)
class Result:
    generation: int
    status: ResultStatus
    phases: list[Phase] = field(default_factory=list)
    result: dict[str, object] = field(default_factory=dict)
    evidence: dict[str, object] = field(default_factory=dict)
    failure: Failure | None = None

    def wire(self) -> dict[str, object]:
        return {
            "generation": self.generation,
            "status": self.status,
            "phases": [phase.wire() for phase in self.phases],
            "result": self.result,
            "evidence": self.evidence,
            "failure": self.failure.wire() if self.failure else None,
        }


def timestamp(moment: datetime | None = None) -> str:
    moment = moment or datetime.now(UTC)
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def moment(text: object) -> datetime:
    """Parse a time from the wire; a time without a zone is refused."""
    if not isinstance(text, str):
        raise ValueError("a time is text")
    parsed = datetime.fromisoformat(text)
    if parsed.tzinfo is None:
        raise ValueError(f"the time {text!r} has no zone")
    return parsed


def parse_envelope(text: str) -> Envelope:
    try:
        raw = json.loads(text)
        envelope = Envelope(
            task_id=_text(raw, "task_id"),
            node_id=_text(raw, "node_id"),
            kind=_text(raw, "kind"),
            resource_id=_text(raw, "resource_id"),
            generation=_number(raw, "generation"),
            deadline=moment(raw["deadline"]),
            correlation_id=str(raw.get("correlation_id") or ""),
            traceparent=str(raw.get("traceparent") or ""),
            spec=raw.get("spec") or {},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise EnvelopeInvalid(f"the envelope cannot be read: {problem}") from problem
    if not isinstance(envelope.spec, dict):
        raise EnvelopeInvalid("spec is not an object")
    for name in (envelope.task_id, envelope.resource_id):
        if not TASK_ID.match(name):
            raise EnvelopeInvalid(f"{name!r} is not an id")
    return envelope


def _text(raw: dict[str, object], key: str) -> str:
    value = raw[key]
    if not isinstance(value, str):
        raise ValueError(f"{key} is not text")
    return value


def _number(raw: dict[str, object], key: str) -> int:
    value = raw[key]
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{key} is not a whole number")
    return value
