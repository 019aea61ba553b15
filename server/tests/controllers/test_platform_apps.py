"""The platform's own apps come to every tenant with a consent that it can withdraw, from an account that can do little else."""

from tests_support.agents import Json, Person
from tests_support.apps import AppSite
from tests_support.manifests import version_text
from tests_support.platform_apps import apps_account, offers, own_project


async def provided(world: AppSite, slug: str = "tool") -> tuple[AppSite, Person, Json]:
    """An app of the platform itself, as the process that provides it makes it: version, account and binding."""
    _, provider = await apps_account(world)
    own = await own_project(world)
    version = await provider.post(f"{own.path}/app-versions", {"manifest": version_text("1.0.0", slug=slug)})
    body = {"name": f"{slug}-controller", "scopes": ["apps:control"], "app_slugs": [slug]}
    account = await provider.post(f"{own.path}/service-accounts", body)
    await provider.post(f"{own.path}/controller-bindings", {"app": slug, "service_account_id": account["id"]})
    await world.settle()
    return own, provider, version


async def consents(site: AppSite) -> list[Json]:
    found: list[Json] = (await site.admin.get(f"/tenants/{site.tenant_id}/controller-consents"))["items"]
    return found


async def test_tenants_get_them_with_a_consent_which_they_can_withdraw_for_good(world: AppSite) -> None:
    _, provider, _ = await provided(world)
    (consent,) = await consents(world)
    assert (consent["app_slug"], consent["given_with"], consent["project_ids"]) == ("tool", "entitlement", None)
    assert [one["slug"] for one in await offers(world)] == ["tool"]
    later = await world.another_tenant("globex", allocations=1)
    (given,) = await consents(later)
    assert given["given_by"] != consent["given_by"]  # who created the tenant gave it
    path = f"/tenants/{world.tenant_id}/controller-consents/{consent['id']}/withdraw"
    await world.admin.post(path, {"reason": "we run our own"})
    entitle = {"app": "tool", "consent": "default"}
    await world.admin.post(f"/tenants/{world.tenant_id}/entitlements", entitle)
    await provided_again(world, provider)
    assert [one["withdrawn_at"] is None for one in await consents(world)] == [False]


async def provided_again(world: AppSite, provider: Person) -> None:
    """A newer version of the same app, as after an upgrade."""
    own = await own_project(world)
    await provider.post(f"{own.path}/app-versions", {"manifest": version_text("1.1.0", slug="tool")})
    await world.settle()


async def test_an_operator_consents_for_a_tenant_to_apps_of_the_platform_only(world: AppSite) -> None:
    entitle = {"app": "echo", "consent": "default"}  # acme's own app
    refused = await world.admin.call("POST", f"/tenants/{world.tenant_id}/entitlements", entitle)
    assert refused.json()["code"] == "consent_not_permitted"
    assert await consents(world) == []


async def test_without_the_setting_a_tenant_gets_them_when_it_is_entitled(world: AppSite) -> None:
    world.platform.settings = world.platform.settings.model_copy(update={"platform_apps_for_tenants": False})
    await provided(world)
    assert await consents(world) == []
    assert await offers(world) == []
    await world.admin.post(f"/tenants/{world.tenant_id}/entitlements", {"app": "tool"})
    assert [one["consent"] for one in await offers(world)] == [None]
    await world.admin.post(f"/tenants/{world.tenant_id}/entitlements", {"app": "tool", "consent": "default"})
    (offer,) = await offers(world)
    assert offer["consent"]["given_with"] == "entitlement"


async def test_the_account_that_provides_apps_gives_nobody_more_than_it_has(world: AppSite) -> None:
    own, provider, _ = await provided(world)
    for scopes in (["apps:provide"], ["allocations:write"], ["apps:control", "credentials:use"]):
        body = {"name": "more", "scopes": scopes, "app_slugs": ["tool"]}
        refused = await provider.call("POST", f"{own.path}/service-accounts", body)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), scopes
    strong = {"name": "strong", "scopes": ["allocations:write"]}
    other = await world.admin.post(f"{own.path}/service-accounts", strong)
    path = f"{own.path}/service-accounts/{other['id']}/keys"
    assert (await provider.call("POST", path, {})).status_code == 403
    assert (await provider.call("DELETE", f"{path}/{other['key']['id']}")).status_code == 403
    assert (await provider.call("GET", f"/projects/{world.project_id}")).status_code == 404


async def test_the_project_is_made_once_and_a_further_key_each_time(world: AppSite) -> None:
    first, _ = await apps_account(world)
    second, _ = await apps_account(world)
    assert (first.project_id, first.client_id) == (second.project_id, second.client_id)
    assert first.client_secret != second.client_secret
    assert first.client_secret not in repr(first)
