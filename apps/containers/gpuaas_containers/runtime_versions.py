"""The version of what runs: what the containers of the version's own image say, or else what the image says of itself."""

from collections.abc import Iterable, Mapping, Sequence

from gpuaas_sdk.controller import MemberCounts

VERSION = "runtime_version"  # in the runtime, in a member's details, and as an image's label
Json = Mapping[str, object]


def version_of_images(
    details: Iterable[Json], digest: str | None, runtime: Json | None, version: str
) -> dict[str, object]:
    """Return what the images say that members run, by the members' details; nothing, if they say nothing. What containers of
    the same version have said before goes first: it is read again in a moment.
    """
    before = runtime or {}
    if before.get("version") == version and VERSION in before:
        return {VERSION: before[VERSION]}
    said = next((one.get(VERSION) for one in details if one.get("image") == digest), None)
    return {} if said is None else {VERSION: said}


def version_of_containers(
    details: Mapping[str, Json], digest: str | None, found: Sequence[MemberCounts]
) -> dict[str, object]:
    """Return what the containers of members say of themselves, by the members' details; nothing, if they say nothing."""
    told = {one.member_id: one.runtime_version for one in found if one.runtime_version is not None}
    own = [member_id for member_id in sorted(told) if details.get(member_id, {}).get("image") == digest]
    return {VERSION: told[own[0]]} if own else {}
