"""From a manifest to a version that can be launched, and to its end."""

from datetime import timedelta

import pytest

from gpuaas_server.catalog.machine import TRANSITIONS, VERBS
from gpuaas_server.catalog.tables import STATUSES
from gpuaas_server.identity.policy import RULES
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from tests_support.manifests import DIGEST, EXAMPLE, version_text
from tests_support.people import MovableClock
from tests_support.publishing import Publishing


async def test_a_manifest_makes_an_app_and_a_draft(publishing: Publishing) -> None:
    version = await publishing.publisher.made(f"/projects/{publishing.project_id}/app-versions", {"manifest": EXAMPLE})
    assert (version["slug"], version["version"], version["status"]) == ("echo", "1.2.0", "draft")
    assert (version["runtime_version"], version["artifact_digest"]) == ("24.10", DIGEST)
    moves = ["app_version_canary", "app_version_activate", "app_version_retire"]
    assert version["allowed_actions"] == [*moves, "app_version_trial", "app_version_smoke"]
    app = (await publishing.publisher.get(f"{publishing.path}/{version['app_id']}")).json()
    assert (app["visibility"], app["keywords"], app["category"]) == ("private", ["tutorial"], "tools")
    shown = (await publishing.publisher.get(f"{publishing.path}/{app['id']}/versions/{version['id']}")).json()
    assert [component["key"] for component in shown["manifest"]["components"]] == ["head", "node"]
    (row,) = await publishing.world.audit(action="app_version_register")
    assert (row["resource_id"], row["project_id"]) == (version["id"], publishing.project_id)


async def test_the_same_content_again_is_the_same_version_and_other_content_is_refused(publishing: Publishing) -> None:
    first = await publishing.register()
    again = await publishing.publisher.made(
        f"/projects/{publishing.project_id}/app-versions", {"manifest": f"# again\n{version_text()}"}
    )
    assert (again["id"], again["content_digest"]) == (first["id"], first["content_digest"])
    text = version_text(description="Something else")
    answer = await publishing.publisher.call(
        "POST", f"/projects/{publishing.project_id}/app-versions", json={"manifest": text}
    )
    assert (answer.status_code, answer.json()["code"]) == (409, "version_exists")
    assert answer.json()["details"]["version_id"] == first["id"]


async def test_a_manifest_with_faults_changes_nothing_and_names_them(publishing: Publishing) -> None:
    text = EXAMPLE.replace("min: 1", "min: 5").replace("users: [echo]", "users: [root]")
    answer = await publishing.publisher.call(
        "POST", f"/projects/{publishing.project_id}/app-versions", json={"manifest": text}
    )
    assert (answer.status_code, answer.json()["code"]) == (422, "manifest_invalid")
    faults = answer.json()["details"]["faults"]
    assert [fault["path"] for fault in faults] == ["max_members", "components[0].min", "footprint.users[0]"]
    assert all(fault["line"] > 1 for fault in faults)
    assert (await publishing.publisher.get(publishing.path)).json()["items"] == []


async def test_a_slug_belongs_to_one_project_of_the_whole_platform(publishing: Publishing) -> None:
    await publishing.register()
    boss = await publishing.world.person("boss@other.test", publishing.other_tenant_id, "tenant_admin")
    path = f"/projects/{publishing.other_project_id}/app-versions"
    answer = await boss.call("POST", path, json={"manifest": version_text("9.0.0")})
    assert (answer.status_code, answer.json()["code"]) == (409, "app_slug_taken")
    beside = await publishing.world.project(publishing.tenant_id, "beside")
    answer = await publishing.world.admin.call(
        "POST", f"/projects/{beside}/app-versions", json={"manifest": version_text("9.0.0")}
    )
    assert (answer.status_code, answer.json()["code"]) == (409, "app_slug_taken")


async def test_versions_are_listed_by_their_order_not_by_their_age(publishing: Publishing) -> None:
    for version in ("1.10.0", "1.9.0", "2.0.0-rc.1", "2.0.0", "0.1.0"):
        registered = await publishing.register(version)
    path = f"{publishing.path}/{registered['app_id']}/versions"
    first = (await publishing.publisher.call("GET", path, params={"limit": "3"})).json()
    rest = (await publishing.publisher.call("GET", path, params={"after": first["next_cursor"]})).json()
    assert [one["version"] for one in first["items"]] == ["2.0.0", "2.0.0-rc.1", "1.10.0"]
    assert [one["version"] for one in rest["items"]] == ["1.9.0", "0.1.0"]


@pytest.mark.parametrize(
    ("stage", "trust", "codes"),
    [
        ("draft", "verified", ["artifact_not_active"]),
        ("canary", "verified", ["artifact_not_active"]),
        ("active", "revoked", ["artifact_revoked"]),
        ("deprecated", "revoked", ["artifact_revoked", "artifact_not_active"]),
    ],
)
async def test_an_active_version_needs_an_active_artifact_that_is_not_revoked(
    publishing: Publishing, stage: str, trust: str, codes: list[str]
) -> None:
    version = await publishing.register()
    await publishing.artifact(stage, trust)
    refused = await publishing.move(version, "activate")
    assert (refused["http"], refused["code"]) == (409, "version_not_activatable")
    assert [reason["code"] for reason in refused["details"]["reasons"]] == codes


async def test_every_file_that_a_version_names_must_be_an_active_blob(publishing: Publishing) -> None:
    weights = "sha256:" + "d" * 64
    profile = {"image": DIGEST, "artifacts": [{"digest": weights, "path": "/models/weights"}]}
    await publishing.artifact()
    registered = await publishing.register(runtime_profile=profile, artifact={"kind": "launchable", "digest": DIGEST})

    async def reasons() -> list[str]:
        refused = await publishing.move(registered, "activate")
        assert (refused["http"], refused["code"]) == (409, "version_not_activatable")
        return [reason["code"] for reason in refused["details"]["reasons"]]

    assert await reasons() == ["artifact_unknown"]
    artifact_id = await publishing.artifact("draft", digest=weights)
    await publishing.artifact_set(artifact_id, kind="oci")
    assert await reasons() == ["artifact_not_a_file", "artifact_not_active"]
    await publishing.artifact_set(artifact_id, kind="blob", stage="active")
    assert (await publishing.move(registered, "activate"))["status"] == "active"


async def test_a_version_without_its_artifact_stays_a_draft(publishing: Publishing) -> None:
    version = await publishing.register()
    await publishing.artifact(digest="sha256:" + "b" * 64)
    refused = await publishing.move(version, "activate")
    assert [reason["code"] for reason in refused["details"]["reasons"]] == ["artifact_unknown"]
    await publishing.artifact()
    assert (await publishing.move(version, "activate"))["status"] == "active"


async def test_a_version_goes_forward_only_and_each_step_is_in_the_trail(
    publishing: Publishing, clock: MovableClock
) -> None:
    await publishing.artifact()
    version = await publishing.register()
    assert (await publishing.move(version, "deprecate", {"notice": "use 2.0"}))["code"] == "conflict"
    active = await publishing.move(version, "activate")
    assert active["allowed_actions"] == ["app_version_deprecate", "app_version_smoke"]
    assert (await publishing.move(version, "activate"))["code"] == "conflict"
    assert (await publishing.move(version, "retire", {"reason": "no more"}))["code"] == "conflict"
    deprecated = await publishing.move(version, "deprecate", {"notice": "use 2.0"})
    assert (deprecated["status"], deprecated["notice"]) == ("deprecated", "use 2.0")
    clock.ahead = timedelta(minutes=2)
    retired = await publishing.move(version, "retire", {"reason": "no more"})
    assert (retired["status"], retired["allowed_actions"]) == ("retired", [])
    trail = await publishing.world.audit(resource_id=version["id"])
    assert [row["action"] for row in reversed(trail)] == [
        "app_version_register",
        "app_version_activate",
        "app_version_deprecate",
        "app_version_retire",
    ]
    assert trail[0]["details"] == {"slug": "echo", "version": "1.2.0", "before": "deprecated", "after": "retired"}
    assert trail[0]["reason"] == "no more"


async def test_a_version_is_not_retired_before_the_announced_day(publishing: Publishing, clock: MovableClock) -> None:
    await publishing.artifact()
    version = await publishing.active()
    day = (clock() + timedelta(days=30)).isoformat()
    await publishing.move(version, "deprecate", {"notice": "use 2.0", "retire_at": day})
    clock.ahead = timedelta(minutes=2)
    refused = await publishing.move(version, "retire", {"reason": "too early"})
    assert (refused["http"], refused["code"]) == (409, "conflict")
    assert day[:10] in refused["detail"]


async def test_a_version_that_an_instance_of_any_tenant_runs_is_not_retired(
    publishing: Publishing, clock: MovableClock
) -> None:
    """The publisher cannot see instances of other tenants, and is told their number all the same."""
    await publishing.artifact()
    version = await publishing.active()
    async with publishing.world.platform.database.connection(PLATFORM) as connection:
        await connection.execute(
            "INSERT INTO app_instances (id, tenant_id, project_id, name, app_id, app_slug, version_id, version, manifest,"
            " inputs, placement_intent, status, status_since, health, health_since, health_reasons, created_by,"
            " correlation_id, created_at) VALUES (%s, %s, %s, 'one', %s, 'echo', %s, '1.2.0', '{}', '{}', '[]',"
            " 'running', now(), 'healthy', now(), '[]', 'usr_x', 'corr-0001', now())",
            (
                new_id("ins"),
                publishing.other_tenant_id,
                publishing.other_project_id,
                version["app_id"],
                version["id"],
            ),
        )
    await publishing.move(version, "deprecate", {"notice": "use 2.0"})
    clock.ahead = timedelta(minutes=2)
    refused = await publishing.move(version, "retire", {"reason": "no more"})
    assert (refused["http"], refused["code"], refused["details"]) == (409, "version_in_use", {"live": 1})
    async with publishing.world.platform.database.connection(PLATFORM) as connection:
        await connection.execute("UPDATE app_instances SET decommissioned_at = now()")
    assert (await publishing.move(version, "retire", {"reason": "no more"}))["status"] == "retired"


async def test_a_draft_can_be_retired(publishing: Publishing) -> None:
    version = await publishing.register()
    assert (await publishing.move(version, "retire", {"reason": "a mistake"}))["status"] == "retired"


async def test_a_change_prepared_against_another_generation_is_refused(publishing: Publishing) -> None:
    await publishing.artifact()
    version = await publishing.register()
    path = f"{publishing.path}/{version['app_id']}/versions/{version['id']}/activate"
    answer = await publishing.publisher.call("POST", path, headers={"If-Match": '"7"'})
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition_failed")
    answer = await publishing.publisher.call("POST", path, headers={"If-Match": f'"{version["generation"]}"'})
    assert answer.status_code == 200


async def test_the_app_is_described_as_its_newest_active_version_says(publishing: Publishing) -> None:
    await publishing.artifact()
    new = await publishing.active("2.0.0", display_name="Echo Two")
    await publishing.active("1.5.0", display_name="Echo One and a half")
    app = (await publishing.publisher.get(f"{publishing.path}/{new['app_id']}")).json()
    assert app["display_name"] == "Echo Two"


async def test_a_version_of_another_app_or_project_is_not_found(publishing: Publishing) -> None:
    echo, other = await publishing.register(), await publishing.register(slug="other-app")
    crossed = {**echo, "app_id": other["app_id"]}
    assert (await publishing.move(crossed, "activate"))["http"] == 404
    path = f"/projects/{publishing.other_project_id}/apps/{echo['app_id']}"
    assert (await publishing.world.admin.get(path)).status_code == 404
    assert (await publishing.world.admin.get(f"{path}/versions")).status_code == 404


def test_every_status_has_a_way_out_and_every_way_a_verb() -> None:
    assert TRANSITIONS.keys() == set(STATUSES)
    assert {status for ways in TRANSITIONS.values() for status in ways} == VERBS.keys()
    assert set(VERBS.values()) <= RULES.keys()
    assert [status for status, ways in TRANSITIONS.items() if not ways] == ["retired"]
