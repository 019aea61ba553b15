"""What a controller writes to its log, and what it keeps out of it."""

import asyncio
import logging
import os
import signal
from dataclasses import replace

import pytest
from sdk_support.notes_app import Begin, Notes, ended, until

from gpuaas_sdk import Unauthenticated
from gpuaas_sdk.controller import Failed, serve
from gpuaas_sdk.testing import CatalogApp, running_replica


async def test_the_log_has_a_line_for_the_connection_and_for_the_start_and_end_of_each_operation(
    catalog_app: CatalogApp, begin: Begin, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gpuaas_sdk.controller")
    settings = catalog_app.controller()
    trouble = Failed("disk_full", "There is no room\non /data.")
    async with running_replica(Notes(catalog_app.slug, trouble=trouble), settings):
        instance, operation = await asyncio.to_thread(begin)
        await ended(catalog_app, operation)
    title = f"deploy {operation.id} of {catalog_app.instance(instance).name}"
    own = [one.getMessage() for one in caplog.records if one.name.startswith("gpuaas_sdk.controller")]
    assert own[0] == "Connected to the platform. Operations to resume: 0"
    assert [line for line in own if operation.id in line] == [
        f"{title} starts, attempt 1",
        f"{title} failed: disk_full: There is no room on /data.",
        f"{title} ended: failed",
    ]
    assert settings.client_secret not in caplog.text


async def test_a_controller_logs_its_start_and_its_end(
    catalog_app: CatalogApp, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gpuaas_sdk.controller")
    settings = catalog_app.controller("log-1")
    running = asyncio.create_task(serve(Notes(catalog_app.slug), settings))
    await until(lambda: "Connected" in caplog.text or running.done())
    assert not running.done()
    os.kill(os.getpid(), signal.SIGTERM)
    await running
    lines = [one.getMessage() for one in caplog.records if one.name == "gpuaas_sdk.controller.process"]
    assert lines == [
        f"Controller of {catalog_app.slug} starts: replica log-1, platform {settings.url.rstrip('/')}",
        f"Controller of {catalog_app.slug} has stopped: replica log-1",
    ]


async def test_the_log_shows_no_name_or_password_of_the_url(
    catalog_app: CatalogApp, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gpuaas_sdk.controller")
    settings = catalog_app.controller()
    scheme, _, rest = settings.url.partition("://")
    with pytest.raises(Unauthenticated):  # the platform accepts no such name
        await serve(Notes(catalog_app.slug), replace(settings, url=f"{scheme}://me:hunter2@{rest}"))
    assert "starts: replica" in caplog.text
    assert "hunter2" not in caplog.text


async def test_the_text_of_an_unexpected_error_stays_in_the_log(catalog_app: CatalogApp, begin: Begin) -> None:
    async with running_replica(Notes(catalog_app.slug, trouble=KeyError("hunter2")), catalog_app.controller()):
        _, operation = await asyncio.to_thread(begin)
        done = await ended(catalog_app, operation)
    assert done.failure is not None
    assert done.failure.code == "controller_error"
    assert "hunter2" not in str(done.raw)
    assert "KeyError" in done.failure.message
