"""Canaries of app versions: who gets them is always the same, and pointers say what launches take."""

from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.artifacts.stages import PromotionFacts, Stage, Trust, move_refusals
from gpuaas_server.catalog import service
from gpuaas_server.catalog.channels import channel_of
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from tests_support.publishing import Json, Publishing

OTHER = "sha256:" + "b" * 64
REASON = {"reason": "it drops connections"}
IDS = st.text("0123456789abcdefghjkmnpqrstvwxyz", min_size=26, max_size=26)


@given(IDS, IDS, st.integers(1, 99))
def test_a_project_gets_the_same_answer_always_and_keeps_it_when_the_part_grows(
    app: str, project: str, part: int
) -> None:
    first = channel_of(app, project, part, None)
    assert first == channel_of(app, project, part, None)
    assert first == "stable" or channel_of(app, project, part + 1, None) == "canary"
    assert channel_of(app, project, 100, None) == "canary"
    assert channel_of(app, project, None, "canary") == "stable", "there is no canary"
    assert (channel_of(app, project, part, "stable"), channel_of(app, project, part, "canary")) == ("stable", "canary")


@given(IDS, st.sampled_from([5, 10, 25, 50, 90]))
def test_the_part_of_the_projects_is_about_what_was_asked_for(app: str, percent: int) -> None:
    chosen = sum(channel_of(app, f"prj_{number}", percent, None) == "canary" for number in range(2000))
    assert abs(chosen / 20 - percent) < 6, "within six of a hundred: five deviations at the worst"


async def _taken(publishing: Publishing, version: str | None = None) -> str:
    """The version that a launch in the publisher's project takes, or the code of the first reason against it."""
    async with publishing.world.platform.database.connection(PLATFORM) as connection:
        try:
            place = (publishing.tenant_id, "echo", version, publishing.project_id)
            return (await service.launchable(connection, *place)).version
        except Problem as problem:
            reasons: list[dict[str, str]] = problem.details["reasons"]  # type: ignore[assignment]
            return reasons[0]["code"]


async def _choose(publishing: Publishing, channel: str) -> Json:
    path = f"/projects/{publishing.project_id}/catalog/echo/channel"
    answer = await publishing.publisher.call("PUT", path, json={"channel": channel})
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


async def _canary(publishing: Publishing, version: str = "1.3.0") -> tuple[Json, str]:
    """An app with an active version and a canary for one of a hundred; the canary, and its artifact."""
    await publishing.artifact()
    artifact = await publishing.artifact("canary", digest=OTHER)
    await publishing.active()
    canary = await publishing.register(version, artifact={"kind": "controller", "digest": OTHER})
    moved = await publishing.move(canary, "canary", {"percent": 1})
    assert (moved["http"], moved["status"], moved["canary_percent"]) == (200, "canary", 1), moved
    return moved, artifact


async def test_a_canary_is_launched_by_who_is_in_it_and_a_pin_decides_before_the_hash(publishing: Publishing) -> None:
    canary, _ = await _canary(publishing)
    chosen = await _choose(publishing, "canary")
    assert (chosen["channel"], chosen["pinned"], chosen["latest"]) == ("canary", True, "1.3.0")
    assert await _taken(publishing) == "1.3.0", "also where its artifact's own percentage would not have it"
    assert (await _choose(publishing, "stable"))["latest"] == "1.2.0"
    assert (await _taken(publishing), await _taken(publishing, "1.3.0")) == ("1.2.0", "not_in_canary")
    again = await _choose(publishing, "automatic")
    assert (again["channel"], again["pinned"]) == (channel_of(canary["app_id"], publishing.project_id, 1, None), False)
    moved = await publishing.move(canary, "canary", {"percent": 100})
    assert (moved["http"], moved["canary_percent"], await _taken(publishing)) == (200, 100, "1.3.0")
    [shown] = await publishing.catalog(publishing.publisher, publishing.project_id)
    assert (shown["latest"], shown["channel"], shown["channel_pinned"]) == ("1.3.0", "canary", False)
    assert [(one["version"], one["status"], one["canary_percent"]) for one in shown["versions"]] == [
        ("1.3.0", "canary", 100),
        ("1.2.0", "active", None),
    ]


async def test_a_canary_wants_a_canary_or_active_artifact_which_stays_while_it_does(publishing: Publishing) -> None:
    await publishing.artifact()
    artifact = await publishing.artifact("staged", digest=OTHER)
    await publishing.active()
    version = await publishing.register("1.3.0", artifact={"kind": "controller", "digest": OTHER})
    refused = await publishing.move(version, "canary", {"percent": 10})
    assert (refused["http"], refused["details"]["reasons"][0]["code"]) == (409, "artifact_not_active")
    await publishing.artifact_set(artifact, stage="canary", canary_percent="10")
    assert (await publishing.move(version, "canary", {"percent": 10}))["http"] == 200
    promoted = await publishing.move(version, "activate")
    assert (promoted["http"], promoted["details"]["reasons"][0]["code"]) == (409, "artifact_not_active")
    async with publishing.world.platform.database.connection(PLATFORM) as connection:
        used = await service.active_versions_on_digest(connection, publishing.project_id, OTHER)
    facts = PromotionFacts(Stage.CANARY, Trust.VERIFIED, False, {}, active_versions=used)
    assert [one.code for one in move_refusals(facts, Stage.STAGED, None)] == ["artifact_in_use"], "used by the canary"
    second = await publishing.register("1.4.0")
    other = await publishing.move(second, "canary", {"percent": 10})
    assert (other["http"], other["details"]["version_id"]) == (409, version["id"]), "one canary at a time"


async def test_promote_and_roll_back_move_what_launches_take(publishing: Publishing) -> None:
    canary, artifact = await _canary(publishing)
    await _choose(publishing, "stable")
    await publishing.artifact_set(artifact, stage="active")
    promoted = await publishing.move(canary, "activate")
    assert (promoted["http"], promoted["status"], promoted["canary_percent"]) == (200, "active", None)
    app = f"{publishing.path}/{canary['app_id']}"
    listed = (await publishing.publisher.get(f"{app}/versions")).json()["items"]
    assert [(one["version"], one["superseded"]) for one in listed] == [("1.3.0", False), ("1.2.0", True)]
    assert await _taken(publishing) == "1.3.0"
    back = await publishing.publisher.call("POST", f"{app}/rollback", json=REASON)
    assert (back.status_code, back.json()["version"]) == (200, "1.2.0"), back.text
    assert await _taken(publishing) == "1.2.0", "though a newer one is active"
    assert (await publishing.publisher.call("POST", f"{app}/rollback", json=REASON)).status_code == 409
    [row] = await publishing.world.audit(action="app_rollback")
    assert row["reason"] == REASON["reason"]


async def test_a_canary_that_is_rolled_back_is_taken_by_nobody_new(publishing: Publishing) -> None:
    canary, _ = await _canary(publishing)
    await _choose(publishing, "canary")
    back = await publishing.publisher.call("POST", f"{publishing.path}/{canary['app_id']}/rollback", json=REASON)
    assert (back.json()["version"], back.json()["status"]) == ("1.3.0", "deprecated")
    assert REASON["reason"] in back.json()["notice"]
    assert (await _taken(publishing), await _taken(publishing, "1.3.0")) == ("1.2.0", "version_deprecated")
    async with publishing.world.platform.database.connection(PLATFORM) as connection:
        place = (publishing.tenant_id, new_id("prj"), canary["id"], OTHER, publishing.project_id)
        assert await service.version_refusals(connection, *place, returning=True) == [], "who runs it keeps it"
