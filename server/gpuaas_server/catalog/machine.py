"""The life of a version: draft → canary → active → deprecated → retired, forward only, and what each step asks for. Pure.

A canary is launched by a part of the projects (channels.py); a draft may also be activated at once. Promoting a canary
activates it, rolling it back deprecates it.

A version that proved wrong after its activation is deprecated, and a newer one takes its place: a manifest never changes.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from gpuaas_server.kernel.dataclass import dataclass

# A draft that nobody will activate may go as well: it has never run.
TRANSITIONS: dict[str, frozenset[str]] = {
    "draft": frozenset({"canary", "active", "retired"}),
    "canary": frozenset({"canary", "active", "deprecated"}),  # to itself: with another percentage
    "active": frozenset({"deprecated"}),
    "deprecated": frozenset({"retired"}),
    "retired": frozenset(),
}
VERBS = {
    "canary": "app_version_canary",
    "active": "app_version_activate",
    "deprecated": "app_version_deprecate",
    "retired": "app_version_retire",
}
TRYABLE = frozenset({"draft", "canary", "active"})  # what its publisher may have launched for a smoke test
# Longer than any transaction lives: a launch that saw the version active has ended, and its instance can be counted.
SETTLING = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Reason:
    """Says why a version is refused: a stable code, and a sentence."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ArtifactFacts:
    stage: str
    revoked: bool
    kind: str  # blob or oci


def possible(status: str) -> list[str]:
    """List the verbs that the status allows."""
    tried = [
        *(["app_version_trial"] if status == "draft" else []),
        *(["app_version_smoke"] if status in TRYABLE else []),
    ]
    return [*(verb for wanted, verb in VERBS.items() if wanted in TRANSITIONS[status]), *tried]


def activation_refusals(
    digest: str, artifact: ArtifactFacts | None, wanted: str = "active", *, is_file: bool = False
) -> Iterator[Reason]:
    """Yield every reason against the move: an active version refers only to active artifacts, a canary to those that are
    a canary or active. `is_file`: it is not an image that runs, but a file that containers read.
    """
    if artifact is None:
        yield Reason("artifact_unknown", f"The project has no artifact {digest}.")
        return
    if is_file and artifact.kind != "blob":
        yield Reason("artifact_not_a_file", f"The artifact {digest} is an image; containers read files.")
    if artifact.revoked:
        yield Reason("artifact_revoked", f"The artifact {digest} is revoked.")
    if artifact.stage != "active" and (wanted, artifact.stage) != ("canary", "canary"):
        needed = "a canary or active" if wanted == "canary" else "active"
        yield Reason("artifact_not_active", f"The artifact {digest} is {artifact.stage}, not {needed}.")


def retirable_at(deprecated_at: datetime | None, announced: datetime | None) -> datetime | None:
    """Return when a deprecated version may be retired: not before the announced day. None: at any time (a draft)."""
    if deprecated_at is None:
        return None
    settled = deprecated_at + SETTLING
    return settled if announced is None else max(settled, announced)


def launch_refusals(
    version: str,
    status: str,
    notice: str | None,
    returning: bool = False,
    channel: str = "stable",
    trial: bool = False,
) -> Iterator[Reason]:
    """Yield every reason against a launch. `returning`: an instance has or had the version, and may keep a deprecated one;
    `channel`: which versions the project gets; `trial`: its publisher tries a draft in its own project.
    """
    if status == "canary" and channel != "canary" and not returning:
        yield Reason("not_in_canary", f"Version {version} is a canary, and this project gets stable versions.")
    if status == "draft" and not trial:
        yield Reason("version_draft", f"Version {version} is a draft.")
    if status == "deprecated" and not returning:
        yield Reason("version_deprecated", f"Version {version} is deprecated: {notice or 'use a newer one'}")
    if status == "retired":
        yield Reason("version_retired", f"Version {version} is retired.")
