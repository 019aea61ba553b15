"""Decides which versions of an app a project gets: stable ones, or the canary. Pure.

Without a choice of its own (a pin), a project is in the canary by a hash of the app and the project: always with the same
answer, and a larger percentage keeps all who were in.
"""

from collections.abc import Sequence
from typing import Literal, Protocol, TypeVar

from gpuaas_server.artifacts.service import in_canary

Channel = Literal["stable", "canary"]


class _Version(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def status(self) -> str: ...


V = TypeVar("V", bound=_Version)


def channel_of(app_id: str, project_id: str, canary_percent: int | None, pinned: str | None) -> Channel:
    """Return the project's channel, by the `canary_percent` of the app. Without a canary, everybody gets stable versions."""
    if canary_percent is None:
        return "stable"
    if pinned is not None:
        return "canary" if pinned == "canary" else "stable"
    return "canary" if in_canary(project_id, app_id, canary_percent) else "stable"


def chosen_version(versions: Sequence[V], stable_version_id: str | None, channel: str) -> V | None:
    """Return the version that a launch without one takes, of versions that are newest first."""
    if channel == "canary":
        for one in versions:
            if one.status == "canary":
                return one
    active = [one for one in versions if one.status == "active"]
    return next((one for one in active if one.id == stable_version_id), active[0] if active else None)
