"""A smoke launch: the platform launches a draft where its publisher says, removes it, and keeps what that showed."""

from datetime import timedelta

from gpuaas_server.instances.locked_instance import SMOKE_WORK
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.work import leases
from tests_support.agents import Json, Person
from tests_support.apps import INPUTS, AppSite
from tests_support.manifests import DIGEST, document
from tests_support.probed import ProbedSite


async def draft(world: AppSite) -> str:
    """The path of a draft whose artifact is a draft, too."""
    (app,) = (await world.admin.get(f"{world.path}/apps"))["items"]
    (version,) = (await world.admin.get(f"{world.path}/apps/{app['id']}/versions"))["items"]
    async with world.platform.database.connection(PLATFORM) as connection, connection.transaction():
        await connection.execute("UPDATE app_versions SET status = 'draft' WHERE id = %s", (version["id"],))
        await connection.execute(
            "UPDATE artifacts SET stage = 'draft' WHERE digest = %s", (version["artifact_digest"],)
        )
    return f"{world.path}/apps/{app['id']}/versions/{version['id']}"


def places(world: AppSite) -> list[Json]:
    return [
        {"component_key": "head", "allocation_id": world.allocations[0]},
        {"component_key": "node", "allocation_id": world.allocations[0]},
        {"component_key": "node", "allocation_id": world.allocations[1]},
    ]


async def launched(world: AppSite, path: str) -> Json:
    answer = await world.admin.call("POST", f"{path}/smoke", {"placement_intent": places(world), "inputs": INPUTS})
    assert answer.status_code == 202, answer.text
    started: Json = answer.json()
    return started


async def evidence(world: AppSite, path: str) -> list[Json]:
    digest = (await world.admin.get(path))["artifact_digest"]
    found: list[Json] = (await world.admin.get(f"{await world.artifact(digest)}/evidence"))["items"]
    return found


async def removal_of(world: AppSite, instance_id: str) -> str:
    """The end of the deploy has woken the worker: no time passes."""
    await world.settle()
    return str((await world.instance(instance_id))["operation_id"])


async def test_launch_that_becomes_ready_and_leaves_nothing_is_evidence_of_the_platform(world: AppSite) -> None:
    path = await draft(world)
    assert (await world.create()).json()["details"]["reasons"][0]["code"] == "no_active_version"
    started = await launched(world, path)
    instance_id, deploy = started["instance"]["id"], started["operation"]["id"]
    await world.settle()
    assert await evidence(world, path) == [], "the deploy is not claimed yet"
    await world.controller.carry_out(deploy)
    removal = await removal_of(world, instance_id)
    assert (await world.operation(removal))["kind"] == "decommission"
    await world.controller.carry_out(removal)
    await world.settle()
    (found,) = await evidence(world, path)
    assert (found["kind"], found["passed"], found["source"]) == ("smoke", True, "platform")
    assert (found["operation_id"], found["submitted_by"]) == (deploy, "system")
    assert (await world.instance(instance_id))["decommissioned_at"] is not None
    async with world.platform.transaction(PLATFORM, system_actor("test")) as tx:
        await leases.enqueue(
            tx, SMOKE_WORK, [instance_id]
        )  # a second look, as after a wake-up in the moment of the first
    await world.settle()
    assert len(await evidence(world, path)) == 1, "it is recorded once"


async def test_failed_launch_is_removed_and_recorded_with_its_reason(world: AppSite) -> None:
    path = await draft(world)
    started = await launched(world, path)
    deploy = started["operation"]["id"]
    await world.controller.does(deploy, "claim")
    failure = {"code": "image_broken", "message": "It ends at once.", "next_step": "Correct it.", "retryable": False}
    await world.controller.does(deploy, "fail", failure=failure)
    removal = await removal_of(world, started["instance"]["id"])
    await world.controller.carry_out(removal)
    await world.settle()
    (found,) = await evidence(world, path)
    assert (found["passed"], found["operation_id"]) == (False, deploy)
    assert "image_broken" in found["summary"]


async def test_launch_that_leaves_something_behind_does_not_pass(world: AppSite) -> None:
    path = await draft(world)
    started = await launched(world, path)
    await world.controller.carry_out(started["operation"]["id"])
    removal = await removal_of(world, started["instance"]["id"])
    world.left = ["echo.service"]
    await world.controller.carry_out(removal)
    await world.settle()
    (found,) = await evidence(world, path)
    assert (found["passed"], found["operation_id"]) == (False, removal)
    assert "teardown_incomplete" in found["summary"]


async def test_launch_that_nobody_carries_out_ends_with_an_outcome(world: AppSite) -> None:
    path = await draft(world)
    await launched(world, path)
    await world.settle()
    for _ in range(2):  # the deploy, and the removal
        world.clock.ahead += timedelta(days=2)
        await world.settle()
    world.clock.ahead = timedelta()  # the token did not live so long
    (found,) = await evidence(world, path)
    assert found["passed"] is False


OTHER = "sha256:" + "b" * 64


async def version_of_images(world: AppSite) -> str:
    """The path of a version with an image for each component. Hosts probe the head; nodes are optional."""
    head, node = document()["components"]
    node = {**node, "min": 0, "runtime_profile": {"image": OTHER}}
    probe = {"key": "answers", "component": "head", "kind": "tcp", "port": 7007, "purpose": ["readiness"]}
    components = [head | {"runtime_profile": {"image": DIGEST}}, node]
    artifact = {"kind": "oci", "digest": DIGEST}
    await world.publish(version="2.0.0", artifact=artifact, components=components, probes=[probe])
    (app,) = (await world.admin.get(f"{world.path}/apps"))["items"]
    versions = (await world.admin.get(f"{world.path}/apps/{app['id']}/versions"))["items"]
    (made,) = (one["id"] for one in versions if one["version"] == "2.0.0")
    return f"{world.path}/apps/{app['id']}/versions/{made}"


async def verdicts(world: AppSite, digest: str) -> list[bool]:
    return [one["passed"] for one in (await world.admin.get(f"{await world.artifact(digest)}/evidence"))["items"]]


async def test_launch_is_evidence_only_of_images_that_hosts_have_probed(world: AppSite) -> None:
    site = ProbedSite.of(world)
    started = await launched(site, await version_of_images(site))
    for task in (await site.completed(started["operation"]["id"])).values():
        await site.say(task, "passing")
    await site.controller.carry_out(await removal_of(site, started["instance"]["id"]))
    await site.settle()
    assert (await verdicts(site, DIGEST), await verdicts(site, OTHER)) == ([True], [])


async def test_launch_of_components_that_no_host_probes_is_refused(world: AppSite) -> None:
    path = await version_of_images(world)
    nodes = [{"component_key": "node", "allocation_id": one} for one in world.allocations[:2]]
    refused = await world.admin.call("POST", f"{path}/smoke", {"placement_intent": nodes, "inputs": INPUTS})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request"), refused.text
    assert "readiness probe" in refused.json()["detail"]


async def test_version_that_was_replaced_before_the_removal_does_not_pass(world: AppSite) -> None:
    path = await draft(world)
    started = await launched(world, path)
    await world.controller.carry_out(started["operation"]["id"])
    async with world.platform.database.connection(PLATFORM) as connection:  # what an upgrade at this moment leaves
        await connection.execute(
            "UPDATE app_instances SET version = '1.9.0', previous = jsonb_build_object('version', version, 'manifest',"
            " manifest, 'digest', digest, 'version_id', version_id, 'runtime_version', runtime_version,"
            " 'publisher_project_id', publisher_project_id) WHERE id = %s",
            (started["instance"]["id"],),
        )
    await world.controller.carry_out(await removal_of(world, started["instance"]["id"]))
    await world.settle()
    (found,) = await evidence(world, path)
    assert (found["passed"], "changed to version 1.9.0" in found["summary"]) == (False, True)


async def test_program_that_may_not_put_a_draft_on_trial_does_not_do_so_by_a_smoke_launch(world: AppSite) -> None:
    path = await draft(world)
    account = await world.admin.post(f"{world.path}/service-accounts", {"name": "launcher", "scopes": ["apps:operate"]})
    grant = {"grant_type": "client_credentials", "client_id": account["id"]}
    answer = await world.site.client.post("/auth/token", json=grant | {"client_secret": account["key"]["secret"]})
    person = Person(world.site.client, answer.json()["access_token"])
    body = {"placement_intent": places(world), "inputs": INPUTS}
    refused = await person.call("POST", f"{path}/smoke", body)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden"), refused.text
    assert (await world.admin.get(path))["trial_since"] is None


async def test_draft_on_trial_is_launched_by_its_publisher_alone_and_only_if_it_is_trusted(world: AppSite) -> None:
    path = await draft(world)
    version = (await world.admin.get(path))["version"]
    refused = (await world.create(version=version)).json()
    assert [one["code"] for one in refused["details"]["reasons"]] == ["version_draft", "artifact_not_active"]
    assert (await world.admin.post(f"{path}/trial", {}))["trial_since"] is not None
    neighbour = await world.admin.post(f"/tenants/{world.tenant_id}/projects", {"slug": "next", "name": "Next"})
    elsewhere = {
        "app": "echo",
        "version": version,
        "name": "other",
        "inputs": INPUTS,
        "placement_intent": places(world),
    }
    answer = await world.admin.call("POST", f"/projects/{neighbour['id']}/instances", elsewhere)
    assert [one["code"] for one in answer.json()["details"]["reasons"]] == ["version_draft", "artifact_not_active"]
    instance_id, operation_id = await world.created(version=version)
    await world.controller.carry_out(operation_id)
    retired = await world.admin.call("POST", f"{path}/retire", {"reason": "it runs"})
    assert retired.json()["code"] == "version_in_use"
    await world.revoke((await world.admin.get(path))["artifact_digest"])
    assert (await world.ask(instance_id, "reconcile")).json()["code"] == "artifact_revoked"


async def test_draft_on_trial_is_shown_in_the_catalogue_of_its_publisher(world: AppSite) -> None:
    path = await draft(world)
    version = (await world.admin.get(path))["version"]
    entry = f"{world.path}/catalog/echo?version={version}"
    assert (await world.admin.call("GET", entry)).status_code == 404
    await launched(world, path)
    shown = await world.admin.get(entry)
    assert (shown["shown"]["status"], shown["latest"]) == ("draft", None)
    assert shown["manifest"]["components"]
