"""What is asked all the time reads a handful of pages, however many instances, members and operations there are."""

from datetime import timedelta
from typing import Any

import pytest

from gpuaas_server.instances import member_queries, queries
from gpuaas_server.instances.queries import InstanceFilter
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.operations import queries as operations
from tests_support.apps import AppSite
from tests_support.page_counts import CountingConnection

FIRST_PAGE = PageRequest(None, 50)

INSTANCES, MEMBERS = 1000, 5
FEW_PAGES = 150

_CROWD = """
CREATE TEMP TABLE crowd AS SELECT 'ins_' || lpad(n::text, 26, '0') AS id, n FROM generate_series(1, %(instances)s) n;
INSERT INTO app_instances (id, tenant_id, project_id, name, app_id, app_slug, version_id, version, digest, manifest, inputs,
  placement_intent, status, status_since, health, health_since, health_reasons, created_by, correlation_id, created_at)
  SELECT id, %(tenant)s, %(project)s, 'crowd-' || n, 'app_x', 'crowd-' || n %% 50, 'apv_x', '1', 'sha256:x', '{}', '{}', '[]',
  CASE WHEN n %% 1000 = 0 THEN 'failed' ELSE 'running' END, now(), 'healthy', now(), '[]', 'usr_x', '-', now() FROM crowd;
INSERT INTO app_members (id, tenant_id, project_id, instance_id, ordinal, component_key, allocation_id, node_id, status,
  status_since, correlation_id, created_at)
  SELECT 'mem_' || lpad((n * 100 + m)::text, 26, '0'), %(tenant)s, %(project)s, id, m, 'node', 'alc_' || n || '_' || m,
  'nod_x', 'ready', now(), '-', now() FROM crowd, generate_series(1, %(members)s) m;
INSERT INTO app_operations (id, tenant_id, project_id, instance_id, app_slug, kind, target, lane, status, status_since,
  requested_by, requested_by_name, correlation_id, created_at, finished_at, deadline_at)
  SELECT 'op_' || lpad((n * 10 + m)::text, 26, '0'), %(tenant)s, %(project)s, id, 'crowd-' || n %% 50, 'restart', 'instance',
  int4range(NULL, NULL), 'succeeded', now(), 'usr_x', 'x', '-', now(), now(), now() FROM crowd, generate_series(1, 3) m;
"""


@pytest.fixture
async def crowded(world: AppSite) -> tuple[AppSite, str]:
    instance_id = await world.running()
    await _crowd(world.platform, world)
    return world, instance_id


async def _crowd(platform: Platform, world: AppSite) -> None:
    values = {"instances": INSTANCES, "members": MEMBERS, "tenant": world.tenant_id, "project": world.project_id}
    async with platform.database.connection(PLATFORM) as connection:
        await connection.execute("SET statement_timeout = '60s'")
        for statement in _CROWD.strip().split(";\n"):
            await connection.execute(statement.rstrip(";"), values)
        await connection.execute("ANALYZE app_instances, app_members, app_operations")


async def test_list_show_and_work_touch_few_pages_among_many(crowded: tuple[AppSite, str]) -> None:
    world, instance_id = crowded
    project, member = world.project_id, (await world.members(instance_id))[0]["id"]
    async with world.platform.database.connection(PLATFORM) as connection:
        questions = {
            "list": lambda c: queries.instance_list(c, project, InstanceFilter(), FIRST_PAGE),
            "list a status": lambda c: queries.instance_list(c, project, InstanceFilter(status="failed"), FIRST_PAGE),
            "list an app": lambda c: queries.instance_list(c, project, InstanceFilter(app_slug="crowd-7"), FIRST_PAGE),
            "list a health": lambda c: queries.instance_list(c, project, InstanceFilter(health="degraded"), FIRST_PAGE),
            "show": lambda c: queries.instance_show(c, project, instance_id),
            "members": lambda c: member_queries.member_list(c, instance_id, False, None, 51),
            "member": lambda c: member_queries.member_show(c, instance_id, member),
            "timeline": lambda c: queries.event_list(c, instance_id, None, 101),
            "busy": lambda c: member_queries.busy_allocations(c, world.allocations),
            "operations": lambda c: operations.operation_list(c, project, None, None, None, FIRST_PAGE),
            "operations of one": lambda c: operations.operation_list(c, project, instance_id, None, None, FIRST_PAGE),
            "failed operations": lambda c: operations.operation_list(c, project, None, None, "failed", FIRST_PAGE),
            "live": lambda c: operations.live_lock(c, instance_id),
            "children": lambda c: operations.children_of(c, new_id("op")),
            "long ended": lambda c: operations.ended_before(c, utc_now() - timedelta(days=90), 50),
            "work": lambda c: operations.work_list(c, project, ["echo", "crowd-7"], 50),
        }
        touched = {}
        for name, ask in questions.items():
            counting: Any = CountingConnection(connection)
            await ask(counting)
            touched[name] = counting.pages
    assert {name: pages for name, pages in touched.items() if pages > FEW_PAGES} == {}
