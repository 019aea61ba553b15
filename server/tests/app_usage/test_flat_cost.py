"""What is asked about usage reads a handful of pages, however much has been recorded."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from gpuaas_server.app_usage import queries
from gpuaas_server.app_usage.queries import UsageFilter
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from tests_support.apps import AppSite
from tests_support.page_counts import CountingConnection

RECORDS = 20_000
FEW_PAGES = 120
_CROWD = """
INSERT INTO app_usage_records (id, tenant_id, project_id, instance_id, app_slug, source_key, metric, unit, quantity, started_at,
  ended_at, reported_by, correlation_id, recorded_at)
  SELECT 'aur_' || lpad(n::text, 26, '0'), %(tenant)s, %(project)s, %(instance)s, 'echo', 'crowd/' || n, 'echoes', 'count', 1,
  %(noon)s, %(noon)s::timestamptz + n * interval '1 minute', 'sva_x', '-', %(noon)s FROM generate_series(1, %(records)s) n;
"""


async def test_a_page_of_records_and_totals_cost_the_same_after_many_records(world: AppSite) -> None:
    instance_id, noon = await world.running(), datetime(2026, 3, 1, 12, tzinfo=UTC)
    same = {"tenant": world.tenant_id, "project": world.project_id, "instance": instance_id}
    async with world.platform.database.connection(PLATFORM) as connection:
        values = {**same, "noon": noon, "records": RECORDS}
        await connection.execute(_CROWD, values, prepare=False)
        await connection.execute("ANALYZE app_usage_records")
        middle = noon + timedelta(minutes=RECORDS // 2)
        for wanted in (
            UsageFilter(world.project_id),
            UsageFilter(world.project_id, instance_id),
            UsageFilter(world.project_id, instance_id, middle, middle + timedelta(days=1)),
        ):
            asking: Any = CountingConnection(connection)
            rows = await queries.record_list(asking, wanted, None, 50)
            last = await queries.record_position(asking, world.project_id, rows[-1].id)
            more = await queries.record_list(asking, wanted, last, 50)
            assert (len(rows), len(more), rows[-1].id > more[0].id) == (50, 50, True)
            assert asking.pages < FEW_PAGES, (wanted, asking.pages)
        asking = CountingConnection(connection)
        await queries.records_known(asking, instance_id, ["crowd/7", "crowd/19000", new_id("aur")])
        await queries.totals(asking, world.project_id, None, (date(2026, 3, 1), date(2026, 3, 31)), None, 50)
        assert asking.pages < FEW_PAGES, asking.pages
