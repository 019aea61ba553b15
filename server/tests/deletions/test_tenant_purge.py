"""A tenant is deleted: everything of it goes but what is named, nothing of another, and the name is free again."""

import json

import pytest

from gpuaas_server.deletions.inventory import KEPT, PROJECT_STAGES, TENANT_STAGES, Stage, purged_tables
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.settings import Settings
from tests_support.agents import Json
from tests_support.apps import AppSite
from tests_support.deletable import Furnished, empty, furnish, lines, pass_grace, place_tables, rows_of

# Of these nothing is left to count when the purge begins: they go when a release ends, or are made by a host only.
GONE_BEFORE = {"allocation_resource_claims", "instance_secrets"}


@pytest.fixture
async def furnished(world: AppSite) -> Furnished:
    made = await furnish(world)
    await empty(world, made.instance_id)
    return made


async def second_tenant(world: AppSite) -> tuple[str, str]:
    """Another tenant with people, a project, and events of its own."""
    admin = world.admin
    tenant = (await admin.post("/tenants", {"slug": "other", "name": "Other"}))["id"]
    project = (await admin.post(f"/tenants/{tenant}/projects", {"slug": "train", "name": "Train"}))["id"]
    user = await admin.post(f"/tenants/{tenant}/users", {"email": "o@other.test", "name": "O"})
    await admin.call("PUT", f"/projects/{project}/members/{user['id']}", {"role": "project_admin"})
    await admin.post(f"/projects/{project}/service-accounts", {"name": "robot", "scopes": ["projects:read"]})
    await admin.post(f"/projects/{project}/access-credentials", {"name": "deploy", "kind": "ssh_key"})
    await admin.call("PUT", f"/projects/{project}/quota", {"gpu_limit": 5})
    return tenant, project


async def test_every_table_with_a_tenant_or_project_is_purged_or_is_said_to_be_kept(platform: Platform) -> None:
    """A new table belongs into deletions/inventory.py: into a stage, or into KEPT with the reason."""
    assert set(await place_tables(platform)) <= purged_tables() | set(KEPT)
    assert set(KEPT) & purged_tables() == {"allocations", "events"}  # partly: see there


@pytest.mark.parametrize(
    "stage", [one for one in (*PROJECT_STAGES, *TENANT_STAGES) if one.instead], ids=lambda one: one.table
)
async def test_every_column_of_rows_that_stay_is_emptied_or_is_said_to_be_kept(
    platform: Platform, stage: Stage
) -> None:
    query = (
        "SELECT column_name AS line FROM information_schema.columns WHERE table_schema = 'public' AND table_name = %s"
    )
    emptied = {part.split("=")[0].strip() for part in stage.instead.split(",")}
    kept = {part.strip() for part in stage.kept.split(",")}
    unnamed = set(await lines(platform, query, stage.table)) - emptied - kept
    assert not unnamed, f"deletions/inventory.py: name {sorted(unnamed)} in `instead` or in `kept` of {stage.table}"
    assert not emptied & kept


async def test_a_purged_tenant_leaves_what_is_named_and_nothing_else(
    world: AppSite, furnished: Furnished, settings: Settings
) -> None:
    other, _ = await second_tenant(world)
    before, beside = (
        await rows_of(world.platform, "tenant_id", world.tenant_id),
        await rows_of(world.platform, "tenant_id", other),
    )
    assert set(await place_tables(world.platform)) - set(before) <= GONE_BEFORE | {"deletions"}
    assert (await world.admin.call("DELETE", f"/tenants/{world.tenant_id}")).status_code == 202
    await pass_grace(world)
    after = await rows_of(world.platform, "tenant_id", world.tenant_id)
    assert set(after) == set(KEPT)
    assert await rows_of(world.platform, "tenant_id", other) == beside
    assert [path for path in (settings.data_dir / "artifacts").rglob("*") if path.is_file()] == []
    gone = (await world.admin.call("GET", f"/tenants/{world.tenant_id}")).status_code
    assert gone == (await world.admin.call("GET", world.path)).status_code == 404


async def test_nothing_of_its_people_is_left_outside_the_audit_trail(world: AppSite, furnished: Furnished) -> None:
    await world.admin.call("DELETE", f"/tenants/{world.tenant_id}")
    await pass_grace(world)
    tables = await lines(world.platform, "SELECT tablename AS line FROM pg_tables WHERE schemaname = 'public'")
    for table in sorted(set(tables) - {"audit_records", "alembic_version"}):
        rows = await lines(world.platform, f'SELECT t::text AS line FROM "{table}" t')
        assert [row for row in rows if furnished.email in row] == [], table
    for table in ("login_failures", "login_networks", "idempotency_keys"):
        count = f"SELECT count(*) AS line FROM {table}"
        assert table == "login_networks" or await lines(world.platform, count) == ["0"], table
    named = "SELECT id AS line FROM allocations WHERE name IS NOT NULL OR ssh_address IS NOT NULL"
    assert await lines(world.platform, named) == []


async def test_the_audit_trail_and_the_platform_are_told_what_was_removed(world: AppSite, furnished: Furnished) -> None:
    await world.admin.call("DELETE", f"/tenants/{world.tenant_id}")
    await pass_grace(world)
    (row,) = (await world.admin.get(f"/audit?action=tenant_purge&resource_id={world.tenant_id}"))["items"]
    removed = row["details"]["removed"]
    assert (removed["tenants"], removed["projects"], removed["users"], removed["allocations"]) == (1, 1, 1, 4)
    assert row["details"]["kept"] == sorted(KEPT)
    events = (await world.admin.get(f"/events?subject={world.tenant_id}&limit=200"))["items"]
    assert [one["type"] for one in events] == ["tenant.created", "tenant.deletion_scheduled", "tenant.deleted"]
    assert events[-1]["data"]["removed"] == removed


async def test_the_name_the_app_and_the_addresses_can_be_used_again(world: AppSite, furnished: Furnished) -> None:
    await world.admin.call("DELETE", f"/tenants/{world.tenant_id}")
    taken = await world.admin.call("POST", "/tenants", {"slug": "acme", "name": "Acme"})
    assert taken.json()["code"] == "already_exists"
    await pass_grace(world)
    tenant = await world.admin.post("/tenants", {"slug": "acme", "name": "Acme"})
    await world.admin.post(f"/tenants/{tenant['id']}/users", {"email": furnished.email, "name": "Ann"})
    project = await world.admin.post(f"/tenants/{tenant['id']}/projects", {"slug": "train", "name": "Train"})
    world.tenant_id, world.project_id = tenant["id"], project["id"]
    await world.publish()
    assert (await world.admin.get(f"{world.path}/apps"))["items"][0]["slug"] == "echo"


async def test_what_a_bill_needs_stays_with_the_ids(world: AppSite, furnished: Furnished) -> None:
    await world.admin.call("DELETE", f"/tenants/{world.tenant_id}")
    await pass_grace(world)
    query = (
        "SELECT concat_ws(' ', gpu_count, sku_name, active_at < ended_at) AS line FROM allocations WHERE tenant_id = %s"
    )
    assert await lines(world.platform, query, world.tenant_id) == ["1 slice t"] * 4
    usage = "SELECT concat_ws(' ', metric, quantity) AS line FROM app_usage_days WHERE tenant_id = %s"
    assert await lines(world.platform, usage, world.tenant_id) == ["echoes 3"]


async def export(world: AppSite, path: str) -> list[Json]:
    answer = await world.admin.call("GET", path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson"), answer.text
    return [json.loads(line) for line in answer.text.splitlines()]


async def test_an_export_has_everything_and_no_secret_before_and_during_the_grace_period(
    world: AppSite, furnished: Furnished
) -> None:
    before = await export(world, f"/tenants/{world.tenant_id}/export")
    await world.admin.call("DELETE", f"/tenants/{world.tenant_id}")
    found = await export(world, f"/tenants/{world.tenant_id}/export")
    kinds = {line["kind"] for line in found}
    assert kinds == {line["kind"] for line in before}
    assert {"tenant", "project", "user", "project_member", "service_account", "service_account_key"} <= kinds
    assert {"instance", "allocation", "usage_record", "usage_day", "audit_record", "event", "artifact"} <= kinds
    counted = {kind: sum(line["kind"] == kind for line in found) for kind in kinds - {"export", "end"}}
    assert found[-1] == {"kind": "end", "data": {"counts": counted}}
    text = json.dumps(found)
    assert furnished.email in text
    for secret in (furnished.account_secret, furnished.password, furnished.refresh_token, furnished.private_key):
        assert secret not in text
    for word in ("password_hash", "digest_of", "sealed_value", "wrapped_key", "secret_digest", "lease_digest"):
        assert f'"{word}"' not in text
    (row, *_) = (await world.admin.get("/audit?action=tenant_export"))["items"]
    assert row["resource_id"] == world.tenant_id


async def test_a_project_exports_its_own_things_and_no_others(world: AppSite, furnished: Furnished) -> None:
    other = await world.admin.post(f"/tenants/{world.tenant_id}/projects", {"slug": "beside", "name": "Beside"})
    found = await export(world, f"{world.path}/export")
    assert {line["data"]["project_id"] for line in found if line["kind"] == "allocation"} == {world.project_id}
    assert other["id"] not in json.dumps(found)
    assert "user" not in {line["kind"] for line in found}
