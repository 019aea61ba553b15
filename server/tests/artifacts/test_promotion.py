"""Promotion over the API: evidence, trust policy, canary, rollback, and what the trail says of it."""

from gpuaas_server.artifacts import service
from gpuaas_server.artifacts.stages import Trust, in_canary
from gpuaas_server.kernel.database import PLATFORM, Scope
from gpuaas_server.kernel.ids import new_id
from tests_support.artifacts import Workshop
from tests_support.select import select

CONTENT = b"artifact"


async def test_draft_is_staged_only_with_lint_and_smoke_that_passed_last(shop: Workshop) -> None:
    artifact = await shop.publish_blob(CONTENT)
    refused = (await shop.move(artifact, "staged")).json()
    assert (refused["code"], len(refused["details"]["refusals"])) == ("promotion_refused", 1)
    await shop.evidence(artifact, "lint")
    await shop.evidence(artifact, "smoke")
    await shop.evidence(artifact, "smoke", passed=False)
    refused = (await shop.move(artifact, "staged")).json()
    assert [one["code"] for one in refused["details"]["refusals"]] == ["evidence_required"]
    await shop.evidence(artifact, "smoke")
    assert (await shop.move(artifact, "staged")).json()["stage"] == "staged"
    kinds = (await shop.admin.get(f"{shop.path}/artifacts/{artifact['id']}/evidence"))["items"]
    assert [one["kind"] for one in kinds] == ["smoke", "smoke", "smoke", "lint", "lint"]
    assert [one["source"] for one in kinds] == ["publisher"] * 4 + ["platform"]
    assert (kinds[-1]["submitted_by"], kinds[-1]["passed"]) == ("system", True)


async def test_every_move_is_in_the_trail_with_actor_before_after_and_reason(shop: Workshop) -> None:
    artifact = await shop.promote(await shop.publish_blob(CONTENT), "staged", "canary", "staged", "canary", "active")
    assert (artifact["stage"], artifact["canary_percent"]) == ("active", 0)
    trail = (await shop.admin.get(f"{shop.path}/audit?resource_id={artifact['id']}&action=artifact_move"))["items"]
    moves = [(one["details"]["before"]["stage"], one["details"]["after"]["stage"]) for one in reversed(trail)]
    assert moves == [
        ("draft", "staged"),
        ("staged", "canary"),
        ("canary", "staged"),
        ("staged", "canary"),
        ("canary", "active"),
    ]
    assert {one["reason"] for one in trail} == {"the test goes on"}
    assert all(one["actor_id"].startswith("usr_") for one in trail)


async def test_a_canary_changes_its_percentage_in_place(shop: Workshop) -> None:
    artifact = await shop.promote(await shop.publish_blob(CONTENT), "staged", "canary")
    assert (await shop.move(artifact, "canary", canary_percent=80)).json()["canary_percent"] == 80
    assert (await shop.move(artifact, "canary")).json()["code"] == "promotion_refused"
    assert (await shop.move(artifact, "active", canary_percent=80)).json()["code"] == "promotion_refused"


async def test_a_move_of_an_older_generation_is_refused(shop: Workshop) -> None:
    artifact = await shop.publish_blob(CONTENT)
    path = f"{shop.path}/artifacts/{artifact['id']}/move"
    answer = await shop.admin.call("POST", path, {"stage": "retired", "reason": "never used"}, if_match=99)
    assert answer.json()["code"] == "precondition_failed"


async def test_a_tenant_that_requires_signatures_promotes_nothing_unsigned(shop: Workshop) -> None:
    artifact = await shop.publish_blob(CONTENT)
    body = {"require_signature": True, "reason": "the auditors ask"}
    answer = await shop.admin.call("PUT", f"/tenants/{shop.tenant_id}/trust-policy", body)
    assert (answer.status_code, answer.json()["generation"]) == (200, 1)
    await shop.promote(artifact, "staged")
    refused = (await shop.move(artifact, "canary", canary_percent=5)).json()
    assert [one["code"] for one in refused["details"]["refusals"]] == ["artifact_untrusted"]


async def test_other_tenants_launch_by_digest_and_see_nothing_else(shop: Workshop) -> None:
    artifact = await shop.promote(await shop.publish_blob(CONTENT), "staged", "canary")
    other = await shop.admin.post("/tenants", {"slug": "other", "name": "Other"})
    digest = artifact["digest"]
    async with shop.platform.database.connection(Scope(other["id"])) as connection:
        states = await service.artifact_states(connection, [digest, "sha256:" + "0" * 64])
        assert {one: (state.stage, state.canary_percent) for one, state in states.items()} == {digest: ("canary", 50)}
        assert not states[digest].revoked
        for project in [new_id("prj") for _ in range(6)]:
            refused = await service.launch_refusals(connection, other["id"], project, digest)
            assert (refused == []) == in_canary(project, digest, 50)
        seen = await (await select(connection, "SELECT count(*) AS seen FROM artifacts")).fetchone()
        assert seen is not None
        assert seen["seen"] == 0
        unknown = await service.launch_refusals(connection, other["id"], new_id("prj"), "sha256:" + "0" * 64)
        assert [one.code for one in unknown] == ["artifact_unknown"]


async def test_another_projects_copy_of_the_bytes_does_not_affect_ours(shop: Workshop) -> None:
    artifact = await shop.publish_blob(CONTENT)
    theirs = await shop.admin.post(f"/tenants/{shop.tenant_id}/projects", {"slug": "other", "name": "Other"})
    copy = await Workshop(shop.site, shop.tenant_id, theirs["id"]).publish_blob(CONTENT)
    await shop.admin.post(f"/projects/{theirs['id']}/artifacts/{copy['id']}/revoke", {"reason": "not needed"})
    async with shop.platform.database.connection(PLATFORM) as connection:
        ours = await service.artifact_states(connection, [artifact["digest"]], shop.project_id)
        gone = await service.artifact_states(connection, [artifact["digest"]], theirs["id"])
    assert ours[artifact["digest"]].trust is Trust.UNVERIFIED
    assert gone[artifact["digest"]].revoked
