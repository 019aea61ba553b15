"""One tenant's changes have a pace; reads, what ends something, other tenants and the platform's own people have none."""

from gpuaas_server.kernel.context import Platform
from tests_support.people import Person, opened


async def account_created(person: Person, project: str, name: str) -> int:
    body = {"name": name, "scopes": ["allocations:read"]}
    return (await person.call("POST", f"/projects/{project}/service-accounts", json=body)).status_code


async def test_only_the_tenant_ahead_of_its_pace_has_to_wait(platform: Platform) -> None:
    slow = {"tenant_changes_per_second": 0.001, "tenant_change_burst": 2}
    platform.settings = platform.settings.model_copy(update=slow)
    async with opened(platform) as world:
        tenant, other = await world.tenant("acme"), await world.tenant("globex")
        project, elsewhere = await world.project(tenant, "train"), await world.project(other, "train")
        ann = await world.person("ann@acme.test", tenant, "project_admin", project)
        bob = await world.person("bob@globex.test", other, "project_admin", elsewhere)
        made = await ann.made(f"/projects/{project}/service-accounts", {"name": "one", "scopes": ["allocations:read"]})
        assert await account_created(ann, project, "two") == 201
        body = {"name": "three", "scopes": ["allocations:read"]}
        refused = await ann.call("POST", f"/projects/{project}/service-accounts", json=body)
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert int(refused.headers["Retry-After"]) > 0
        assert (await ann.get(f"/projects/{project}/service-accounts")).status_code == 200
        ended = await ann.call("DELETE", f"/projects/{project}/service-accounts/{made['id']}")
        assert ended.status_code < 300
        assert await account_created(bob, elsewhere, "one") == 201
        assert await account_created(world.admin, project, "of the platform") == 201
