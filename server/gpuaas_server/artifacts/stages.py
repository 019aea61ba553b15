"""Decides how far an artifact is promoted: the stages, the rules between them, and who is in a canary. Pure.

draft → staged → canary → active → deprecated → retired; canary → staged is the rollback.
An artifact that never went live may be retired at once, so that every stage has a way out.
"""

import hashlib
from enum import StrEnum

from gpuaas_server.kernel.dataclass import dataclass


class Stage(StrEnum):
    DRAFT = "draft"
    STAGED = "staged"
    CANARY = "canary"
    ACTIVE = "active"
    DEPRECATED = "deprecated"
    RETIRED = "retired"


class Trust(StrEnum):
    UNVERIFIED = "unverified"
    VERIFIED = "verified"
    FAILED = "failed_verification"
    REVOKED = "revoked"


TRANSITIONS: dict[Stage, frozenset[Stage]] = {
    Stage.DRAFT: frozenset({Stage.STAGED, Stage.RETIRED}),
    Stage.STAGED: frozenset({Stage.CANARY, Stage.RETIRED}),
    # To itself: with another percentage.
    Stage.CANARY: frozenset({Stage.CANARY, Stage.ACTIVE, Stage.STAGED}),
    Stage.ACTIVE: frozenset({Stage.DEPRECATED}),
    Stage.DEPRECATED: frozenset({Stage.RETIRED}),
    Stage.RETIRED: frozenset(),
}
LINT, SMOKE = "lint", "smoke"
PLATFORM, PUBLISHER = "platform", "publisher"  # whose evidence counts; that of development does not
# Where new launches may come from it; everything before and after is closed to them.
_OPENING = frozenset({Stage.STAGED, Stage.CANARY, Stage.ACTIVE})
_TRIED = frozenset({Stage.DRAFT, Stage.STAGED, Stage.CANARY, Stage.ACTIVE})
_LIVE = frozenset({Stage.CANARY, Stage.ACTIVE})
# Where nobody may launch it, so that a collection may take it if nothing refers to it.
COLLECTABLE = frozenset({Stage.DRAFT, Stage.STAGED, Stage.DEPRECATED, Stage.RETIRED})
# Where an instance that has it already may bring it to further hosts, or return to it.
KEEPING = _LIVE | {Stage.DEPRECATED}


@dataclass(frozen=True, slots=True)
class Refusal:
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class PromotionFacts:
    """Holds the facts that a move depends on. `evidence` is the last outcome by kind and source; `checking`: the platform's own
    lint is under way; `needs_smoke_launch`: the tenant accepts only smoke launches by the platform; `live` counts instances on
    the digest, `active_versions` those app versions that are active or a canary and refer to it.
    """

    stage: Stage
    trust: Trust
    require_signature: bool
    evidence: dict[tuple[str, str], bool]
    checking: bool = False
    needs_smoke_launch: bool = False
    live: int = 0
    active_versions: int = 0


def move_refusals(facts: PromotionFacts, wanted: Stage, canary_percent: int | None) -> list[Refusal]:
    """List every reason against the move, not only the first; an empty list means that it may be made."""
    if wanted not in TRANSITIONS[facts.stage]:
        return [Refusal("promotion_refused", f"An artifact cannot move from {facts.stage} to {wanted}.")]
    refusals = [*_percent(wanted, canary_percent)]
    if wanted in _OPENING and not _is_rollback(facts.stage, wanted):
        refusals += _trust(facts, wanted)
    if (facts.stage, wanted) == (Stage.DRAFT, Stage.STAGED):
        refusals += _evidence(facts)
    if wanted in (Stage.DEPRECATED, Stage.STAGED) and facts.active_versions:
        message = f"{facts.active_versions} app version(s) that are active or a canary refer to it."
        refusals.append(Refusal("artifact_in_use", f"{message} Deprecate them or roll them back first."))
    if wanted is Stage.RETIRED and facts.live:
        refusals.append(Refusal("artifact_in_use", f"{facts.live} live instance(s) run on this digest."))
    return refusals


def _is_rollback(stage: Stage, wanted: Stage) -> bool:
    return stage is Stage.CANARY and wanted is Stage.STAGED


def _percent(wanted: Stage, percent: int | None) -> list[Refusal]:
    if wanted is Stage.CANARY and percent is None:
        return [Refusal("promotion_refused", "A canary needs a percentage.")]
    if wanted is not Stage.CANARY and percent is not None:
        return [Refusal("promotion_refused", "Only a canary has a percentage.")]
    return []


def _trust(facts: PromotionFacts, wanted: Stage) -> list[Refusal]:
    if facts.trust is Trust.REVOKED:
        return [Refusal("artifact_revoked", "The artifact is revoked.")]
    if facts.trust is Trust.FAILED:
        return [Refusal("artifact_untrusted", "The verification of the artifact failed.")]
    if wanted in _LIVE and facts.require_signature and facts.trust is not Trust.VERIFIED:
        return [Refusal("artifact_untrusted", "The tenant requires a signature by one of its trust keys.")]
    return []


def _evidence(facts: PromotionFacts) -> list[Refusal]:
    """Require the platform's own lint and a smoke test. A success of one source does not outweigh a failure of another."""
    found, messages = facts.evidence, list[str]()
    if (LINT, PLATFORM) not in found:
        messages.append(
            "The platform is still checking it. Try again when the check has ended."
            if facts.checking
            else "The platform has not linted it. Verify the artifact; this lints it too."
        )
    if facts.needs_smoke_launch and (SMOKE, PLATFORM) not in found:
        messages.append(
            "The tenant requires a smoke launch by the platform. Register an app version with it, then smoke-launch it."
        )
    elif (SMOKE, PLATFORM) not in found and (SMOKE, PUBLISHER) not in found:
        messages.append("There is no smoke evidence.")
    for kind in (LINT, SMOKE):
        for source, whose in ((PLATFORM, "of the platform"), (PUBLISHER, "of the publisher")):
            if found.get((kind, source)) is False:
                messages.append(f"The last {kind} run {whose} did not pass.")
    return [Refusal("evidence_required", message) for message in messages]


def in_canary(project_id: str, digest: str, percent: int) -> bool:
    """Tell whether the project is in the canary, always with the same answer. A larger percentage keeps all who were in."""
    mark = hashlib.sha256(f"{digest}\n{project_id}".encode()).digest()
    return int.from_bytes(mark[:8], "big") * 100 < percent << 64


@dataclass(frozen=True, slots=True)
class Launch:
    """Holds what a launch depends on: the artifact, and the trust policy of the tenant that launches."""

    stage: Stage
    trust: Trust
    signed_by: frozenset[str]
    canary_percent: int
    require_signature: bool
    allowed_keys: frozenset[str]
    revoked_keys: frozenset[str]


def launch_refusals(
    launch: Launch, project_id: str, digest: str, returning: bool = False, trial: bool = False
) -> list[Refusal]:
    """List the reasons against a launch. `returning`: an instance has or had it; a canary once taken is kept. `trial`: its
    publisher tries it, which needs trust and no stage that opens it to others.
    """
    refusals = []
    if launch.trust is Trust.REVOKED:
        refusals.append(Refusal("artifact_revoked", f"{digest} is revoked."))
    elif launch.trust is Trust.FAILED:
        refusals.append(Refusal("artifact_untrusted", f"The verification of {digest} failed."))
    elif launch.require_signature and not launch.signed_by & launch.allowed_keys:
        refusals.append(Refusal("artifact_untrusted", f"No trust key of your tenant signed {digest}."))
    elif launch.signed_by and launch.signed_by <= launch.revoked_keys:
        refusals.append(Refusal("artifact_untrusted", f"Only keys that your tenant revoked signed {digest}."))
    if (returning and launch.stage in KEEPING) or (trial and launch.stage in _TRIED):
        return refusals
    if launch.stage is Stage.CANARY:
        if not in_canary(project_id, digest, launch.canary_percent):
            message = f"The artifact is a canary for {launch.canary_percent}% of the projects, and not for this one."
            refusals.append(Refusal("not_in_canary", message))
    elif launch.stage is not Stage.ACTIVE:
        refusals.append(Refusal("artifact_not_active", f"The artifact is {launch.stage}, not active."))
    return refusals
