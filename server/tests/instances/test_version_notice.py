"""Who runs a deprecated version is told so, and what to do."""

from gpuaas_server.kernel.database import PLATFORM
from tests_support.apps import AppSite


async def test_an_instance_shows_the_notice_of_its_version_and_stays_healthy(world: AppSite) -> None:
    instance_id = await world.running()
    before = await world.instance(instance_id)
    assert before["flags"] == []
    async with world.platform.database.connection(PLATFORM) as connection:
        await connection.execute(
            "UPDATE app_versions SET status = 'deprecated', notice = 'use 2.0' WHERE version = %s", (before["version"],)
        )
    after = await world.instance(instance_id)
    assert [(flag["code"], "use 2.0" in flag["message"]) for flag in after["flags"]] == [("version_deprecated", True)]
    assert (after["health"], after["generation"]) == (before["health"], before["generation"])
