"""The platform's own project, and the account of the process that provides its apps."""

from dataclasses import replace

from gpuaas_server.projects.platform_project import AppsAccount, make_apps_account
from tests_support.agents import Json, Person
from tests_support.apps import AppSite


async def apps_account(world: AppSite) -> tuple[AppsAccount, Person]:
    """The platform's own project with the account of the process that provides its apps, signed in."""
    kept: list[AppsAccount] = []
    account = await make_apps_account(world.platform, kept.append)
    assert kept == [account]
    grant = {"grant_type": "client_credentials", "client_id": account.client_id, "client_secret": account.client_secret}
    answer = await world.site.client.post("/auth/token", json=grant)
    return account, Person(world.site.client, answer.json()["access_token"])


async def own_project(world: AppSite) -> AppSite:
    account, _ = await apps_account(world)
    project = await world.admin.get(f"/projects/{account.project_id}")
    assert project["platform"]
    return replace(world, tenant_id=project["tenant_id"], project_id=project["id"], allocations=[])


async def offers(tenant: AppSite) -> list[Json]:
    found: list[Json] = (await tenant.admin.get(f"/tenants/{tenant.tenant_id}/controller-offers"))["items"]
    return found
