"""Deleting an artifact: refused while it is used, its bytes gone, nothing launched from it meanwhile."""

from pathlib import Path

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.settings import Settings
from tests_support.artifacts import Workshop
from tests_support.select import select

CONTENT = b"bytes of a tool\n" * 1000


def stored(settings: Settings) -> list[Path]:
    return [path for path in (settings.data_dir / "artifacts").rglob("*") if path.is_file()]


async def rows_of(platform: Platform, artifact_id: str) -> int:
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(
            connection,
            "SELECT (SELECT count(*) FROM artifacts WHERE id = %(id)s)"
            " + (SELECT count(*) FROM artifact_evidence WHERE artifact_id = %(id)s) AS n",
            {"id": artifact_id},
        )
        row = await cursor.fetchone()
        return int(row["n"]) if row else -1


async def test_a_deleted_artifact_is_gone_with_its_bytes_and_evidence(shop: Workshop, settings: Settings) -> None:
    artifact = await shop.publish_blob(CONTENT)
    await shop.evidence(artifact, "lint")
    path = f"{shop.path}/artifacts/{artifact['id']}"
    answer = await shop.admin.call("DELETE", path)
    assert (answer.status_code, answer.json()["deleting"], answer.json()["allowed_actions"]) == (202, True, [])
    await shop.work()
    assert (await shop.admin.call("GET", path)).status_code == 404
    assert stored(settings) == []
    assert await rows_of(shop.platform, artifact["id"]) == 0
    trail = await shop.admin.get(f"/audit?resource_id={artifact['id']}")
    assert {"artifact_delete", "artifact_deleted"} <= {row["action"] for row in trail["items"]}


async def test_while_it_is_being_deleted_nothing_is_handed_out_and_asking_again_changes_nothing(shop: Workshop) -> None:
    artifact = await shop.publish_blob(CONTENT)
    path = f"{shop.path}/artifacts/{artifact['id']}"
    await shop.admin.call("DELETE", path)
    again = await shop.admin.call("DELETE", path)
    assert (again.status_code, again.json()["stage"]) == (202, "retired")
    assert (await shop.admin.call("GET", f"{path}/content")).status_code == 409


async def test_the_same_bytes_of_another_project_stay(shop: Workshop, settings: Settings) -> None:
    artifact = await shop.publish_blob(CONTENT)
    project = await shop.admin.post(f"/tenants/{shop.tenant_id}/projects", {"slug": "other", "name": "Other"})
    other = Workshop(shop.site, shop.tenant_id, project["id"])
    kept = await other.publish_blob(CONTENT)
    await shop.admin.call("DELETE", f"{shop.path}/artifacts/{artifact['id']}")
    await shop.work()
    answer = await shop.admin.call("GET", f"{other.path}/artifacts/{kept['id']}/content")
    assert (answer.status_code, answer.content) == (200, CONTENT)
    assert len(stored(settings)) == 1


async def test_the_same_bytes_can_be_published_again_after_the_deletion(shop: Workshop) -> None:
    first = await shop.publish_blob(CONTENT)
    await shop.admin.call("DELETE", f"{shop.path}/artifacts/{first['id']}")
    await shop.work()
    second = await shop.publish_blob(CONTENT)
    assert second["id"] != first["id"]
    answer = await shop.admin.call("GET", f"{shop.path}/artifacts/{second['id']}/content")
    assert answer.content == CONTENT
