"""The life of a version: draft → active → deprecated → retired, forward only, and what each step asks for. Pure.

A version that proved wrong after its activation is deprecated, and a newer one takes its place: a manifest never changes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

# A draft that nobody will activate may go as well: it has never run.
TRANSITIONS: dict[str, frozenset[str]] = {
    "draft": frozenset({"active", "retired"}),
    "active": frozenset({"deprecated"}),
    "deprecated": frozenset({"retired"}),
    "retired": frozenset(),
}
VERBS = {
    "active": "app_version_activate",
    "deprecated": "app_version_deprecate",
    "retired": "app_version_retire",
}
# Longer than any transaction lives: a launch that saw the version active has ended, and its instance can be counted.
SETTLING = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a version is refused: a stable code, and a sentence."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ArtifactFacts:
    stage: str
    revoked: bool
    kind: str  # blob or oci


def possible(status: str) -> list[str]:
    """List the verbs that the status allows."""
    return [verb for wanted, verb in VERBS.items() if wanted in TRANSITIONS[status]]


def activation_refusals(digest: str, artifact: ArtifactFacts | None, further: bool = False) -> Iterator[Reason]:
    """Yield every reason against the activation: an active version refers only to active artifacts.

    `further`: it is not the version's own artifact, but a file that its containers read.
    """
    if artifact is None:
        yield Reason("artifact_unknown", f"The project has no artifact {digest}.")
        return
    if further and artifact.kind != "blob":
        yield Reason("artifact_not_a_file", f"The artifact {digest} is an image; containers read files.")
    if artifact.revoked:
        yield Reason("artifact_revoked", f"The artifact {digest} is revoked.")
    if artifact.stage != "active":
        yield Reason("artifact_not_active", f"The artifact {digest} is {artifact.stage}, not active.")


def retirable_at(deprecated_at: datetime | None, announced: datetime | None) -> datetime | None:
    """Return when a deprecated version may be retired: not before the announced day. None: at any time (a draft)."""
    if deprecated_at is None:
        return None
    settled = deprecated_at + SETTLING
    return settled if announced is None else max(settled, announced)


def launch_refusals(version: str, status: str, notice: str | None, returning: bool = False) -> Iterator[Reason]:
    """Yield every reason against a launch. `returning`: an instance has or had the version, and may keep a deprecated one."""
    if status == "draft":
        yield Reason("version_draft", f"Version {version} is a draft.")
    if status == "deprecated" and not returning:
        yield Reason("version_deprecated", f"Version {version} is deprecated: {notice or 'use a newer one'}")
    if status == "retired":
        yield Reason("version_retired", f"Version {version} is retired.")
