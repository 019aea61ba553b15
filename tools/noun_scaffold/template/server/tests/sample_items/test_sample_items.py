"""Sample items over HTTP and in the database."""

from datetime import timedelta  # with states

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM, Scope
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.sample_items import queries
from gpuaas_server.sample_items.machine import LIMIT, STATES  # with states
from gpuaas_server.sample_items.reconciler import SampleItemReconciler  # with states
from gpuaas_server.work import leases  # with states
from gpuaas_server.work.worker import Worker  # with states
from tests_support.agents import MovableClock  # with states
from tests_support.agents import Json, Site
from tests_support.projects import Project


async def create(site: Site, project: Project, name: str = "first") -> Json:
    return await site.admin.post(f"{project.path}/sample-items", {"name": name})


async def list_names(site: Site, project: Project, query: str = "") -> list[str]:
    return [one["name"] for one in (await site.admin.get(f"{project.path}/sample-items{query}"))["items"]]


async def list_events(site: Site, project: Project, subject: str) -> list[str]:
    return [one["type"] for one in (await site.admin.get(f"{project.path}/events?subject={subject}"))["items"]]


async def test_one_sample_item_is_created_shown_and_deleted(site: Site, project: Project) -> None:
    created = await create(site, project)
    path = f"{project.path}/sample-items/{created['id']}"
    assert created["allowed_actions"] == ["sample_item_delete"]
    assert await site.admin.get(path) == created
    assert (await site.admin.call("DELETE", path)).status_code == 204
    assert (await site.admin.call("GET", path)).json()["code"] == "not_found"
    assert (await site.admin.call("DELETE", path)).json()["code"] == "not_found"
    assert await list_names(site, project) == []


async def test_every_change_has_an_audit_record_and_an_event(site: Site, project: Project) -> None:
    created = await create(site, project)
    await site.admin.call("DELETE", f"{project.path}/sample-items/{created['id']}")
    records = (await site.admin.get(f"{project.path}/audit?resource_id={created['id']}"))["items"]
    assert [one["action"] for one in records] == ["sample_item_delete", "sample_item_create"]
    assert await list_events(site, project, created["id"]) == ["sample_item.created", "sample_item.deleted"]


async def test_members_read_it_and_administrators_create_it(site: Site, project: Project) -> None:
    created, member = await create(site, project), await project.person("project_member")
    assert (await member.get(f"{project.path}/sample-items/{created['id']}"))["allowed_actions"] == []
    assert (await member.call("POST", f"{project.path}/sample-items", {"name": "second"})).status_code == 403
    offered = [(await one.get(project.path))["allowed_actions"] for one in (site.admin, member)]
    assert ["sample_item_create" in actions for actions in offered] == [True, False]


async def test_a_name_is_used_once_in_a_project(site: Site, project: Project) -> None:
    await create(site, project)
    refused = await site.admin.call("POST", f"{project.path}/sample-items", {"name": "first"})
    assert (refused.status_code, refused.json()["code"]) == (409, "already_exists")


async def test_a_list_comes_in_pages_newest_first(site: Site, project: Project) -> None:
    for name in ("first", "second", "third"):
        await create(site, project, name)
    page = await site.admin.get(f"{project.path}/sample-items?limit=2")
    assert [one["name"] for one in page["items"]] == ["third", "second"]
    assert await list_names(site, project, f"?after={page['next_cursor']}") == ["first"]


async def test_the_database_shows_it_to_its_own_tenant_only(platform: Platform, site: Site, project: Project) -> None:
    created = await create(site, project)
    place = (project.id, created["id"])
    async with platform.database.connection(PLATFORM) as connection:
        row = await queries.sample_item_show(connection, *place)
    assert row is not None
    for tenant_id, visible in ((row.tenant_id, row), (new_id("tnt"), None)):
        async with platform.database.connection(Scope(tenant_id)) as connection:
            assert await queries.sample_item_show(connection, *place) == visible


# begin: with states
async def work(platform: Platform) -> None:
    """Let the worker do what is due now."""
    worker = Worker(platform, [SampleItemReconciler()])
    async with platform.database.connection(PLATFORM) as connection:
        taken = await leases.take(connection, [SampleItemReconciler.kind], "test", platform.clock(), 60, 10)
    for lease in taken:
        await worker._advance(lease)


async def read_state(platform: Platform, item: Json) -> str:
    async with platform.database.connection(PLATFORM) as connection:
        row = await queries.sample_item_show(connection, item["project_id"], item["id"])
    assert row is not None
    return row.state


async def test_it_goes_through_its_states_in_time(platform: Platform, site: Site, project: Project) -> None:
    created = await create(site, project)
    platform.clock = clock = MovableClock()
    seen = [created["state"]]
    for _ in STATES[1:]:
        await work(platform)
        assert await read_state(platform, created) == seen[-1]  # its time is not over
        clock.ahead += LIMIT
        await work(platform)
        seen.append(await read_state(platform, created))
    assert tuple(seen) == STATES
    clock.ahead = timedelta()  # back to where the administrator's token is valid
    moves = [f"sample_item.{state}" for state in STATES[1:]]
    assert await list_events(site, project, created["id"]) == ["sample_item.created", *moves]


# end: with states
