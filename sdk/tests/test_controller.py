"""The controller framework against a real server and a simulated fleet: handlers, what they report, and failures."""

import asyncio
import urllib.request

from sdk_support.notes_app import HANG, MANIFEST, Begin, Notes, ended, until

from gpuaas_sdk import NewMemberOperation
from gpuaas_sdk.controller import Context, Failed
from gpuaas_sdk.sync.wait import wait_for
from gpuaas_sdk.testing import CatalogApp, running_replica


async def test_the_reports_of_a_handler_are_there_when_the_operation_has_ended(
    catalog_app: CatalogApp, begin: Begin
) -> None:
    app = Notes(catalog_app.slug)
    async with running_replica(app, catalog_app.controller()) as replica:
        instance, operation = await asyncio.to_thread(begin)
        done = await ended(catalog_app, operation)
        assert (done.status, done.attempt, done.failure) == ("succeeded", 1, None)
        assert [(one.name, one.status) for one in done.steps] == [
            (name, "succeeded") for name in ("first", "once", "second")
        ]
        shown = catalog_app.instance(instance)
        assert (shown.status, shown.runtime) == ("running", {"version": "1", "tone": "low"})
        assert shown.access_bundle == {"talk": "nc somewhere 7"}
        server = await replica.metrics.serve(0)
        port = server.sockets[0].getsockname()[1]
        text = await asyncio.to_thread(_get, f"http://127.0.0.1:{port}/metrics")
        assert 'gpuaas_controller_ends_total{kind="deploy",outcome="succeeded"} 1' in text
        server.close()


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310
        text: str = answer.read().decode()
        return text


async def test_a_handler_gets_the_published_bytes_and_the_environment_of_its_instance(
    catalog_app: CatalogApp, begin: Begin
) -> None:
    class Reads(Notes):
        async def deploy(self, ctx: Context) -> None:
            self.done = [(await ctx.fetch_artifact()).decode(), *ctx.environment.values()]

    app = Reads(catalog_app.slug)
    async with running_replica(app, catalog_app.controller()):
        instance, operation = await asyncio.to_thread(begin)
        assert (await ended(catalog_app, operation)).status == "succeeded"
    assert app.done == ["what the controller is made of", instance]


async def test_a_failure_that_the_handler_names_is_shown_to_people(catalog_app: CatalogApp, begin: Begin) -> None:
    trouble = Failed("disk_full", "There is no room on /data.", next_step="Make room.", retryable=True)
    async with running_replica(Notes(catalog_app.slug, trouble=trouble), catalog_app.controller()):
        _, operation = await asyncio.to_thread(begin)
        done = await ended(catalog_app, operation)
    assert done.status == "failed"
    assert done.failure is not None
    assert (done.failure.code, done.failure.message) == ("disk_full", "There is no room on /data.")
    assert (done.failure.next_step, done.failure.retryable) == ("Make room.", True)
    assert done.steps[-1].status == "failed"


async def test_a_cancelled_operation_ends_between_two_steps(catalog_app: CatalogApp, begin: Begin) -> None:
    hold = asyncio.Event()
    app = Notes(catalog_app.slug, hold=hold)
    async with running_replica(app, catalog_app.controller()):
        _, operation = await asyncio.to_thread(begin)
        await asyncio.wait_for(app.began.wait(), HANG)
        await asyncio.to_thread(catalog_app.sandbox.admin.operations.cancel, catalog_app.project_id, operation.id)
        hold.set()
        done = await ended(catalog_app, operation)
    assert (done.status, app.done) == ("cancelled", ["first"])


async def test_a_default_handler_calls_others_and_a_missing_handler_fails(
    catalog_app: CatalogApp, begin: Begin
) -> None:
    app = Notes(catalog_app.slug)
    async with running_replica(app, catalog_app.controller()):
        instance, operation = await asyncio.to_thread(begin)
        await ended(catalog_app, operation)
        app.done.clear()
        restart = await asyncio.to_thread(catalog_app.operate, instance, "restart")
        assert (await ended(catalog_app, restart)).status == "succeeded"
        assert app.done == ["halt", "go"]
        gone = await ended(catalog_app, await asyncio.to_thread(catalog_app.operate, instance, "decommission"))
    assert gone.failure is not None
    assert gone.failure.code == "not_supported"


async def test_a_member_operation_works_on_its_own_member_only(
    catalog_app: CatalogApp, begin: Begin, places: list[str]
) -> None:
    app = Notes(catalog_app.slug)
    async with running_replica(app, catalog_app.controller()):
        instance, operation = await asyncio.to_thread(begin)
        await ended(catalog_app, operation)
        change = NewMemberOperation(kind="add", component_key="leaf", allocation_ids=[places[1]])
        added = await asyncio.to_thread(catalog_app.change_members, instance, change)
        assert (await ended(catalog_app, added)).status == "succeeded"
    assert app.done[-1] == "join ['leaf']"


async def test_health_is_reported_on_the_controllers_schedule(catalog_app: CatalogApp, begin: Begin) -> None:
    async with running_replica(Notes(catalog_app.slug), catalog_app.controller()):
        instance, operation = await asyncio.to_thread(begin)
        await ended(catalog_app, operation)
        await until(lambda: catalog_app.instance(instance).health == "degraded")
    assert "it hums" in {reason.message for reason in catalog_app.instance(instance).health_reasons}


async def test_a_controller_without_a_slug_serves_what_its_account_is_bound_to_also_what_is_bound_later(
    catalog_app: CatalogApp, begin: Begin
) -> None:
    admin, project, other = catalog_app.sandbox.admin, catalog_app.project_id, f"{catalog_app.slug}-two"
    catalog_app.publish(MANIFEST.replace("{slug}", other), b"what the controller is made of")
    settings, app = catalog_app.controller("of-many"), Notes()

    def live() -> set[str]:
        replicas = admin.controller_replicas.list(project)
        return {one.app_slug for one in replicas if one.live and one.service_account_id == settings.client_id}

    def bind(*slugs: str) -> None:
        account = admin.service_accounts.show(project, settings.client_id)
        admin.service_accounts.update(project, account.id, app_slugs=slugs, generation=account.generation)

    def is_live(*slugs: str) -> bool | None:
        return live() == set(slugs) or None

    async with running_replica(app, settings):
        _, operation = await asyncio.to_thread(begin)
        assert (await ended(catalog_app, operation)).status == "succeeded"
        await asyncio.to_thread(wait_for, lambda: is_live(catalog_app.slug), 20.0, what="the first app to be served")
        await asyncio.to_thread(bind, catalog_app.slug, other)
        await asyncio.to_thread(wait_for, lambda: is_live(catalog_app.slug, other), 20.0, what="the second app too")
    assert await asyncio.to_thread(live) == set(), "it has not said that it ends"
