"""The stages of an artifact on its way to `active`, and what a publisher checked before. Used by `artifacts.promote_to`."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_sdk.errors import Conflict, Problem
from gpuaas_sdk.generated.models import Artifact

STAGES = ("draft", "staged", "canary", "active")


@dataclass(frozen=True, slots=True)
class PassedCheck:
    """A check that passed, as it becomes evidence: `kind` is lint or smoke, `tool` what ran, `summary` what it said."""

    kind: str
    tool: str
    summary: str


def stages_to(artifact: Artifact, target: str) -> Sequence[str]:
    """Return the stages from the artifact's own to the target; none when it is there or beyond.

    An artifact that is deprecated or retired is refused: somebody has decided about it.
    """
    if artifact.stage not in STAGES:
        raise Conflict(
            Problem(
                code="promotion_refused",
                status=409,
                detail=f"The artifact {artifact.digest} is {artifact.stage}; no version of it can be launched.",
                next_step="Publish other bytes.",
            )
        )
    return STAGES[STAGES.index(artifact.stage) + 1 : STAGES.index(target) + 1]
