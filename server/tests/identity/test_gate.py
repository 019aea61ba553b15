"""The gate over HTTP: what is hidden, what is forbidden, what is written down, and how fast a change acts."""

import asyncio
import time

import pytest

from gpuaas_server.audit.denials import Denials
from gpuaas_server.kernel.database import NOBODY, PLATFORM, Scope
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support.people import Person, World, serving
from tests_support.select import select

SETTLE = 0.05


HANG = 60.0  # seconds, after which nobody waits any more


async def eventually(person: Person, path: str, status: int) -> None:
    """Until the answer has this status."""
    deadline = time.monotonic() + HANG
    while (await person.get(path)).status_code != status:
        assert time.monotonic() < deadline, f"{path} did not become {status}"
        await asyncio.sleep(0.005)


async def test_a_project_of_another_tenant_is_hidden_like_one_that_does_not_exist(world: World) -> None:
    acme, other = await world.tenant("acme"), await world.tenant("other")
    theirs = await world.project(other, "secret")
    ann = await world.person("ann@acme.test", acme, "tenant_admin")
    hidden, absent = await ann.get(f"/projects/{theirs}"), await ann.get(f"/projects/{new_id('prj')}")
    assert hidden.status_code == absent.status_code == 404
    assert hidden.json()["detail"] == absent.json()["detail"]
    assert hidden.json()["code"] == "not_found"


async def test_a_refusal_is_written_in_the_callers_tenant_and_says_what_was_asked_for(world: World) -> None:
    acme, other = await world.tenant("acme"), await world.tenant("other")
    theirs = await world.project(other, "secret")
    ann = await world.person("ann@acme.test", acme, "tenant_admin")
    await ann.get(f"/projects/{theirs}")
    (row,) = await world.audit(action="project_show", outcome="denied")
    assert (row["actor_id"], row["tenant_id"], row["resource_id"], row["project_id"]) == (
        ann.id,
        acme,
        theirs,
        None,
    )
    assert row["details"] == {"why": "hidden"}
    own = (await ann.get(f"/tenants/{acme}/audit?outcome=denied")).json()["items"]
    assert [r["id"] for r in own] == [row["id"]]


@pytest.mark.parametrize("method", ["GET", "PATCH"])
async def test_somebody_elses_thing_named_in_a_place_of_ones_own_is_written_down_as_a_denial(
    world: World, method: str
) -> None:
    acme, other = await world.tenant("acme"), await world.tenant("other")
    ann = await world.person("ann@acme.test", acme, "tenant_admin")
    bob = await world.person("bob@other.test", other, "tenant_admin")
    body = {"json": {"name": "Mine"}} if method == "PATCH" else {}
    answer = await ann.call(method, f"/tenants/{acme}/users/{bob.id}", **body)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    (row,) = await world.audit(outcome="denied")
    assert (row["action"], row["actor_id"]) == (f"tenant_user_{'show' if method == 'GET' else 'update'}", ann.id)
    assert (row["tenant_id"], row["resource_id"], row["details"]) == (acme, bob.id, {"why": "not_found"})
    assert row["correlation_id"] == answer.headers["X-Correlation-ID"]


async def test_an_absent_thing_in_a_project_is_written_in_that_project(world: World) -> None:
    acme = await world.tenant("acme")
    project = await world.project(acme, "vision")
    ann = await world.person("ann@acme.test", acme, "project_admin", project)
    account = new_id("sva")
    assert (await ann.get(f"/projects/{project}/service-accounts/{account}")).status_code == 404
    (row,) = await world.audit(outcome="denied")
    assert (row["project_id"], row["resource_id"]) == (project, account)


async def test_what_is_absent_for_a_platform_role_is_no_denial(world: World) -> None:
    acme = await world.tenant("acme")
    assert (await world.admin.get(f"/tenants/{acme}/users/{new_id('usr')}")).status_code == 404
    assert await world.audit(outcome="denied") == []


async def test_a_refusal_is_answered_even_when_its_row_cannot_be_written(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    acme = await world.tenant("acme")
    ann = await world.person("ann@acme.test", acme, "tenant_admin")

    async def away(*_: object) -> None:
        raise Problem("unavailable", "All database connections are busy.")

    monkeypatch.setattr(Denials, "write", away)
    assert (await ann.get(f"/tenants/{acme}/users/{new_id('usr')}")).json()["code"] == "not_found"


async def test_a_visible_place_without_the_role_is_forbidden_and_the_answer_names_the_roles(
    world: World,
) -> None:
    acme = await world.tenant("acme")
    project = await world.project(acme, "vision")
    ann = await world.person("ann@acme.test", acme, "project_viewer", project)
    answer = await ann.call("PATCH", f"/projects/{project}", json={"name": "Mine"})
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert answer.json()["details"]["needs"] == ["platform_admin", "tenant_admin"]
    (row,) = await world.audit(action="project_update", outcome="denied")
    assert (row["project_id"], row["details"]) == (project, {"why": "forbidden"})


@pytest.mark.parametrize(
    "project", ["prj_short", "%00", "prj_%00", "x" * 300, "%ff%fe", "usr_01arz3ndektsv4rrffq69g5fav", "'--"]
)
async def test_a_malformed_id_is_refused_and_never_an_error_of_ours(world: World, project: str) -> None:
    ann = await world.person("ann@acme.test", await world.tenant("acme"), "tenant_admin")
    for person in (ann, world.admin):
        for path in (f"/projects/{project}", f"/tenants/{project}"):
            assert (await person.get(path)).status_code in (404, 422)


@pytest.mark.usefixtures("only_news")
async def test_a_role_that_was_taken_away_stops_acting_at_once_on_every_replica(
    world: World, settings: Settings
) -> None:
    acme = await world.tenant("acme")
    project = await world.project(acme, "vision")
    ann = await world.person("ann@acme.test", acme, "project_viewer", project)
    async with running_platform(settings) as other, serving(other) as client:
        elsewhere = Person(client, ann.id, ann.email, ann.token)
        for person in (ann, elsewhere):
            assert (await person.get(f"/projects/{project}")).status_code == 200
        answer = await world.admin.call("DELETE", f"/projects/{project}/members/{ann.id}")
        assert answer.status_code == 204
        await eventually(ann, f"/projects/{project}", 404)
        await eventually(elsewhere, f"/projects/{project}", 404)


@pytest.mark.usefixtures("only_news")
async def test_a_disabled_user_is_out_at_once_and_their_old_token_stays_dead(world: World) -> None:
    acme = await world.tenant("acme")
    ann = await world.person("ann@acme.test", acme)
    path = f"/tenants/{acme}/users/{ann.id}"
    await world.admin.call("PATCH", path, json={"disabled": True})
    await eventually(ann, "/me", 401)
    await world.admin.call("PATCH", path, json={"disabled": False})
    await asyncio.sleep(SETTLE)
    assert (await ann.get("/me")).json()["code"] == "token_invalid"


async def test_without_wake_ups_a_change_still_acts_when_the_memory_runs_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuaas_server.admission.directory.REMEMBERED_SECONDS", 0.3)
    ann = await world.person("ann@acme.test", await world.tenant("acme"))
    assert (await ann.get("/me")).status_code == 200
    async with world.platform.database.connection(PLATFORM) as connection:
        await connection.execute("UPDATE users SET disabled = true WHERE id = %s", (ann.id,))
    await eventually(ann, "/me", 403)


async def test_the_second_look_at_a_caller_needs_no_query(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = await world.person("ann@acme.test", await world.tenant("acme"))
    gate = world.client._transport.app.state.gate  # type: ignore[attr-defined]
    request = _Request(ann.token)
    await gate.admit(request, "me_show")
    monkeypatch.setattr(world.platform.database, "connection", _no_connection)
    started = time.thread_time()  # of this thread's own work, whatever else the machine is doing
    for _ in range(1000):
        await gate.admit(request, "me_show")
    assert (time.thread_time() - started) / 1000 < 0.0002


class _Request:
    """As much of a request as the gate looks at."""

    method = "GET"
    client = None
    path_params: dict[str, str] = {}
    scope = {"path": "/api/v1/me", "state": {"correlation_id": "test-correlation", "traceparent": ""}}

    def __init__(self, token: str) -> None:
        self.headers = {"authorization": f"Bearer {token}"}


def _no_connection(scope: Scope) -> None:
    raise AssertionError(f"the gate asked the database in scope {scope or NOBODY}")


async def test_a_disabled_project_can_be_read_and_enabled_again_but_not_changed(world: World) -> None:
    acme = await world.tenant("acme")
    project = await world.project(acme, "vision")
    ann = await world.person("ann@acme.test", acme, "tenant_admin")
    assert (await ann.call("PATCH", f"/projects/{project}", json={"disabled": True})).status_code == 200
    await asyncio.sleep(SETTLE)
    assert (await ann.get(f"/projects/{project}")).json()["disabled"] is True
    body = {"name": "ci", "scopes": ["projects:read"]}
    refused = await ann.call("POST", f"/projects/{project}/service-accounts", json=body)
    assert (refused.status_code, refused.json()["details"]) == (403, {"disabled": "project"})
    assert (await ann.call("PATCH", f"/projects/{project}", json={"disabled": False})).status_code == 200
    await asyncio.sleep(SETTLE)
    assert (await ann.call("POST", f"/projects/{project}/service-accounts", json=body)).status_code == 201


async def test_in_a_disabled_tenant_people_read_and_only_the_platform_changes(world: World) -> None:
    acme = await world.tenant("acme")
    ann = await world.person("ann@acme.test", acme, "tenant_admin")
    await world.admin.call("PATCH", f"/tenants/{acme}", json={"disabled": True})
    await asyncio.sleep(SETTLE)
    assert (await ann.get(f"/tenants/{acme}")).status_code == 200
    body = {"slug": "vision", "name": "Vision"}
    assert (await ann.call("POST", f"/tenants/{acme}/projects", json=body)).status_code == 403
    assert (await world.admin.call("POST", f"/tenants/{acme}/projects", json=body)).status_code == 201


async def test_a_platform_user_without_a_role_sees_only_themselves(world: World) -> None:
    acme = await world.tenant("acme")
    await world.project(acme, "vision")
    idle = await world.person("idle@gpuaas.local")
    assert (await idle.get("/me")).status_code == 200
    assert (await idle.get("/tenants")).json()["items"] == []
    assert (await idle.get("/projects")).json()["items"] == []
    assert (await idle.get(f"/tenants/{acme}")).status_code == 404
    assert (await idle.get("/users")).status_code == 403


async def test_the_database_hides_other_tenants_even_when_the_policy_would_not(world: World) -> None:
    acme, other = await world.tenant("acme"), await world.tenant("other")
    await world.project(other, "secret")
    await world.person("bob@other.test", other, "tenant_admin")
    async with world.platform.database.connection(Scope(acme)) as connection:
        for table in ("tenants", "projects", "users", "role_bindings", "service_accounts"):
            cursor = await select(connection, f"SELECT tenant_id FROM {table}")
            assert {row["tenant_id"] for row in await cursor.fetchall()} <= {acme}
