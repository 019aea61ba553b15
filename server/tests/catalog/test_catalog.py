"""Who sees which app: by the verbs, and a second time by the database itself."""

import psycopg
import pytest

from gpuaas_server.catalog import service
from gpuaas_server.kernel.database import PLATFORM, Scope
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from tests_support.publishing import Json, Publishing
from tests_support.select import select


def slugs(items: list[Json]) -> list[str]:
    return [item["slug"] for item in items]


async def grant(publishing: Publishing, slug: str = "echo") -> Json:
    return await publishing.world.admin.made(f"/tenants/{publishing.other_tenant_id}/entitlements", {"app": slug})


async def test_a_private_app_is_its_tenants_alone(publishing: Publishing) -> None:
    await publishing.artifact()
    await publishing.active()
    beside = await publishing.world.project(publishing.tenant_id, "beside")
    neighbour = await publishing.world.person("n@acme.test", publishing.tenant_id, "project_viewer", beside)
    assert slugs(await publishing.catalog(neighbour, beside)) == ["echo"]
    assert await publishing.catalog(publishing.user, publishing.other_project_id) == []
    answer = await publishing.user.get(f"/projects/{publishing.other_project_id}/catalog/echo")
    assert answer.status_code == 404


async def test_a_public_app_is_visible_to_all_tenants_and_hides_its_publisher(publishing: Publishing) -> None:
    await publishing.artifact()
    version = await publishing.active()
    await publishing.show_to(version["app_id"], "public")
    (app,) = await publishing.catalog(publishing.user, publishing.other_project_id)
    assert (app["slug"], app["own"], app["latest"]) == ("echo", False, "1.2.0")
    entry = (await publishing.user.get(f"/projects/{publishing.other_project_id}/catalog/echo")).json()
    assert entry["manifest"]["inputs"]["required"] == ["greeting"]
    told = str(entry) + str(app)
    assert publishing.tenant_id not in told
    assert publishing.project_id not in told


async def test_an_entitled_app_comes_with_the_entitlement_and_goes_with_it(publishing: Publishing) -> None:
    await publishing.artifact()
    version = await publishing.active()
    await publishing.show_to(version["app_id"], "entitled")
    mine = (publishing.user, publishing.other_project_id)
    assert await publishing.catalog(*mine) == []
    entitlement = await grant(publishing)
    assert (await grant(publishing))["id"] == entitlement["id"]
    assert slugs(await publishing.catalog(*mine)) == ["echo"]
    path = f"/tenants/{publishing.other_tenant_id}/entitlements"
    boss = await publishing.world.person("boss@other.test", publishing.other_tenant_id, "tenant_admin")
    assert [one["slug"] for one in (await boss.get(path)).json()["items"]] == ["echo"]
    assert (await boss.call("DELETE", f"{path}/{entitlement['id']}")).status_code == 403
    assert (await publishing.world.admin.call("DELETE", f"{path}/{entitlement['id']}")).status_code == 204
    assert await publishing.catalog(*mine) == []


async def test_the_tenants_of_an_app_are_listed_and_those_of_no_app_are_not_found(publishing: Publishing) -> None:
    await publishing.artifact()
    version = await publishing.active()
    await grant(publishing)
    admin = publishing.world.admin
    listed = await admin.get(f"/apps/{version['app_id']}/entitlements")
    assert [one["tenant_id"] for one in listed.json()["items"]] == [publishing.other_tenant_id]
    nothing = await admin.get(f"/apps/{new_id('app')}/entitlements")
    assert (nothing.status_code, nothing.json()["code"]) == (404, "not_found")


async def test_an_entitlement_to_a_private_app_shows_nothing(publishing: Publishing) -> None:
    await publishing.artifact()
    await publishing.active()
    await grant(publishing)
    assert await publishing.catalog(publishing.user, publishing.other_project_id) == []


async def test_a_platform_administrator_sees_a_projects_catalogue_as_the_project_does(publishing: Publishing) -> None:
    await publishing.artifact()
    await publishing.active()
    assert await publishing.catalog(publishing.world.admin, publishing.other_project_id) == []
    assert slugs(await publishing.catalog(publishing.world.admin, publishing.project_id)) == ["echo"]


async def test_an_app_without_an_active_version_cannot_be_launched_and_is_not_listed(publishing: Publishing) -> None:
    await publishing.artifact()
    version = await publishing.register()
    home = (publishing.publisher, publishing.project_id)
    assert await publishing.catalog(*home) == []
    none_yet = (await publishing.publisher.get(f"/projects/{publishing.project_id}/catalog/echo")).json()
    assert (none_yet["code"], none_yet["detail"]) == ("not_found", "echo has no version that could be launched yet.")
    await publishing.move(version, "activate")
    assert slugs(await publishing.catalog(*home)) == ["echo"]
    await publishing.move(version, "deprecate", {"notice": "use the other one"})
    assert await publishing.catalog(*home) == []
    entry = (await publishing.publisher.get(f"/projects/{publishing.project_id}/catalog/echo")).json()
    assert (entry["latest"], entry["shown"]["notice"]) == (None, "use the other one")


async def test_a_deprecated_version_shows_its_notice_beside_the_newer_one(publishing: Publishing) -> None:
    await publishing.artifact()
    old, _ = await publishing.active("1.0.0"), await publishing.active("2.0.0")
    await publishing.move(old, "deprecate", {"notice": "2.0.0 is faster"})
    (app,) = await publishing.catalog(publishing.publisher, publishing.project_id)
    assert [(one["version"], one["status"], one["notice"]) for one in app["versions"]] == [
        ("2.0.0", "active", None),
        ("1.0.0", "deprecated", "2.0.0 is faster"),
    ]
    async with publishing.world.platform.database.connection(Scope(publishing.tenant_id)) as connection:
        notices = await service.version_notices(connection, [old["id"], "apv_none"])
    assert {key: (one.version, one.notice) for key, one in notices.items()} == {old["id"]: ("1.0.0", "2.0.0 is faster")}


async def test_search_finds_all_of_the_words_in_names_description_and_keywords(publishing: Publishing) -> None:
    await publishing.artifact()
    await publishing.active(slug="echo", display_name="Écho", description="Answers what it hears")
    await publishing.active(slug="other-app", display_name="Other", description="", ui={"keywords": ["100%_sure"]})
    home = (publishing.publisher, publishing.project_id)
    assert slugs(await publishing.catalog(*home, search="HEARS answers")) == ["echo"]
    assert slugs(await publishing.catalog(*home, search="éCHO")) == ["echo"]
    assert slugs(await publishing.catalog(*home, search="100%_s")) == ["other-app"]
    assert await publishing.catalog(*home, search="hears other") == []
    assert await publishing.catalog(*home, search="%") == [] or slugs(await publishing.catalog(*home, search="%")) == [
        "other-app"
    ]
    assert slugs(await publishing.catalog(*home)) == ["other-app", "echo"]
    page = (
        await publishing.publisher.call("GET", f"/projects/{publishing.project_id}/catalog", params={"limit": "1"})
    ).json()
    rest = await publishing.catalog(*home, after=page["next_cursor"])
    assert (slugs(page["items"]), slugs(rest)) == (["other-app"], ["echo"])


async def test_a_launch_is_refused_with_all_reasons_against_it(publishing: Publishing) -> None:
    artifact = await publishing.artifact()
    old, new = await publishing.active("1.0.0"), await publishing.active("2.0.0")
    await publishing.register("3.0.0")
    database = publishing.world.platform.database

    async def launch(
        version: str | None, tenant_id: str = "", project_id: str | None = None
    ) -> service.LaunchableVersion:
        tenant = tenant_id or publishing.tenant_id
        async with database.connection(Scope(tenant)) as connection:
            return await service.launchable(connection, tenant, "echo", version, project_id)

    found = await launch(None)
    assert (found.version, found.version_id, found.manifest.slug) == ("2.0.0", new["id"], "echo")
    assert (await launch("1.0.0")).version_id == old["id"]
    with pytest.raises(Problem, match="There is no version of echo 7"):
        await launch("7.7.7")
    with pytest.raises(Problem, match="is a draft"):
        await launch("3.0.0")
    with pytest.raises(Problem, match="There is no app echo"):
        await launch(None, publishing.other_tenant_id)
    await publishing.move(old, "deprecate", {"notice": "use 2.0.0"})
    await publishing.artifact_set(artifact, trust="revoked")
    with pytest.raises(Problem) as refused:
        await launch("1.0.0", project_id=publishing.project_id)
    assert refused.value.code == "not_launchable"
    reasons = refused.value.details["reasons"]
    assert isinstance(reasons, list)
    assert {"version_deprecated", "artifact_revoked"} <= {reason["code"] for reason in reasons}


async def test_active_versions_on_a_digest_are_counted_before_the_artifact_ends(
    publishing: Publishing,
) -> None:
    await publishing.artifact()
    version = await publishing.active()
    async with publishing.world.platform.database.connection(Scope(publishing.tenant_id)) as connection:
        place = (connection, publishing.project_id, version["artifact_digest"])
        assert await service.active_versions_on_digest(*place) == 1
        await publishing.move(version, "deprecate", {"notice": "no more"})
        assert await service.active_versions_on_digest(*place) == 0


async def test_the_database_shows_other_tenants_only_what_is_public_or_granted_and_lets_them_change_nothing(
    publishing: Publishing,
) -> None:
    await publishing.artifact()
    version = await publishing.active("1.0.0")
    await publishing.register("2.0.0")
    database = publishing.world.platform.database
    counts = "SELECT (SELECT count(*) FROM apps) AS apps, (SELECT count(*) FROM app_versions) AS versions"

    async def seen(scope: Scope) -> tuple[int, int]:
        async with database.connection(scope) as connection:
            row = await (await select(connection, counts)).fetchone()
        assert row is not None
        return row["apps"], row["versions"]

    stranger, nobody = Scope(publishing.other_tenant_id), Scope("")
    assert (await seen(Scope(publishing.tenant_id)), await seen(stranger)) == ((1, 2), (0, 0))
    await publishing.show_to(version["app_id"], "entitled")
    assert await seen(stranger) == (0, 0)
    await grant(publishing)
    assert await seen(stranger) == (1, 1)  # the draft stays hidden
    await publishing.show_to(version["app_id"], "public")
    assert (await seen(stranger), await seen(nobody), await seen(PLATFORM)) == ((1, 1), (0, 0), (1, 2))
    async with database.connection(stranger) as connection:
        for statement in ("UPDATE apps SET slug = 'mine'", "DELETE FROM app_versions", "DELETE FROM apps"):
            assert (await select(connection, statement)).rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await connection.execute(
                "INSERT INTO entitlements (id, tenant_id, app_id, granted_by, created_at)"
                " VALUES ('etl_x', %s, %s, 'me', now())",
                (publishing.tenant_id, version["app_id"]),
            )
