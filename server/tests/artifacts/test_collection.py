"""Collection of artifacts that nothing refers to: a dry run, a grace period, and what is never taken."""

from gpuaas_server.kernel.database import PLATFORM
from tests_support.artifacts import Json, Workshop


async def garbage(shop: Workshop) -> dict[str, Json]:
    listed = await shop.admin.get(f"{shop.path}/artifact-garbage")
    return {one["name"]: one for one in listed["items"]}


async def collect(shop: Workshop, **more: object) -> Json:
    answer = await shop.admin.call(
        "POST", f"{shop.path}/artifact-garbage/collect", {"reason": "the quota is used up", **more}
    )
    assert answer.status_code == 202, answer.text
    collected: Json = answer.json()
    return collected


async def age(shop: Workshop, artifact: Json) -> None:
    """Make the artifact older than the grace period."""
    hours = shop.platform.settings.artifact_grace_hours + 1
    async with shop.platform.database.connection(PLATFORM) as connection, connection.transaction():
        await connection.execute(
            "UPDATE artifacts SET created_at = created_at - make_interval(hours => %s),"
            " stage_since = stage_since - make_interval(hours => %s) WHERE id = %s",
            (hours, hours, artifact["id"]),
        )


async def test_dry_run_says_what_would_go_and_when_and_a_collection_takes_only_what_is_due(shop: Workshop) -> None:
    draft = await shop.publish_blob(b"draft", "draft")
    active = await shop.promote(await shop.publish_blob(b"active", "active"), "staged", "canary", "active")
    revoked = await shop.publish_blob(b"revoked", "revoked")
    await shop.admin.post(f"{shop.path}/artifacts/{revoked['id']}/revoke", {"reason": "it leaks"})
    await shop.work()
    seen = await garbage(shop)
    assert list(seen) == ["draft"]
    assert (seen["draft"]["due"], seen["draft"]["size_bytes"]) == (False, 5)
    assert "draft" in seen["draft"]["reason"]
    assert (await collect(shop))["items"] == []
    for one in (draft, active, revoked):
        await age(shop, one)
    await shop.publish_blob(b"younger", "younger")
    seen = await garbage(shop)
    assert {name: one["due"] for name, one in seen.items()} == {"draft": True, "younger": False}
    taken = await collect(shop)
    assert ([one["id"] for one in taken["items"]], taken["size_bytes"]) == ([draft["id"]], 5)
    assert (await shop.artifact(draft["id"]))["deleting"] is True
    await shop.work()
    gone = await shop.admin.call("GET", f"{shop.path}/artifacts/{draft['id']}")
    assert gone.status_code == 404
    assert list(await garbage(shop)) == ["younger"]
    (entry,) = (await shop.admin.get(f"{shop.path}/audit?action=artifact_garbage_collect"))["items"][:1]
    assert (entry["details"]["artifacts"], entry["reason"]) == (1, "the quota is used up")


async def test_pages_of_the_dry_run_reach_every_artifact(shop: Workshop) -> None:
    for number in range(3):
        await shop.publish_blob(f"{number}".encode(), f"tool-{number}")
    await shop.promote(await shop.publish_blob(b"active", "active"), "staged", "canary", "active")
    names, after = [], ""
    while True:
        page = await shop.admin.get(f"{shop.path}/artifact-garbage?limit=1{after}")
        names += [one["name"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        after = f"&after={page['next_cursor']}"
    assert names == ["tool-2", "tool-1", "tool-0"]
