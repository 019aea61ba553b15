"""Evidence: the platform lints every artifact itself, and what a publisher or a development run says is not taken for it."""

import hashlib
import json

from gpuaas_server.artifacts.lint import ImageDocuments, lint_blob, lint_image
from tests_support.artifacts import Json, Workshop

CONTENT = b"artifact"


async def listed(shop: Workshop, artifact: Json) -> list[Json]:
    found: list[Json] = (await shop.admin.get(f"{shop.path}/artifacts/{artifact['id']}/evidence"))["items"]
    return found


async def refusals(shop: Workshop, artifact: Json, stage: str = "staged") -> list[str]:
    answer = (await shop.move(artifact, stage)).json()
    return [one["message"] for one in answer["details"]["refusals"]]


async def publish(shop: Workshop, content: bytes, media_type: str) -> Json:
    intent = await shop.intend(name="tool", media_type=media_type)
    await shop.upload(intent, content)
    await shop.complete(intent, f"sha256:{hashlib.sha256(content).hexdigest()}")
    await shop.work()
    await shop.work()
    return await shop.artifact((await shop.intent(intent))["artifact_id"])


async def test_publishers_word_does_not_replace_the_platforms_lint(shop: Workshop) -> None:
    artifact = await publish(shop, b"no archive", "application/gzip")
    for kind in ("lint", "smoke"):
        await shop.evidence(artifact, kind)
    assert await refusals(shop, artifact) == ["The last lint run of the platform did not pass."]
    (lint,) = [one for one in await listed(shop, artifact) if one["source"] == "platform"]
    assert "not application/gzip" in lint["summary"]


async def test_artifact_that_the_platform_has_not_linted_yet_stays_a_draft(shop: Workshop) -> None:
    intent = await shop.intend()
    await shop.upload(intent, CONTENT)
    await shop.complete(intent, f"sha256:{hashlib.sha256(CONTENT).hexdigest()}")
    await shop.work_on("publish_intent")
    artifact = await shop.artifact((await shop.intent(intent))["artifact_id"])
    await shop.evidence(artifact, "smoke")
    assert await refusals(shop, artifact) == ["The platform is still checking it. Try again when the check has ended."]
    await shop.work()
    assert (await shop.move(artifact, "staged")).status_code == 200


async def test_check_with_the_same_outcome_adds_no_evidence(shop: Workshop) -> None:
    artifact = await shop.publish_blob(CONTENT)
    await shop.admin.post(f"{shop.path}/artifacts/{artifact['id']}/verify", {})
    await shop.work()
    assert len(await listed(shop, artifact)) == 1


async def test_development_run_is_shown_and_counts_for_nothing(shop: Workshop) -> None:
    artifact = await shop.publish_blob(CONTENT)
    body = {"kind": "smoke", "passed": True, "tool": "dev 1", "summary": "it ran", "development": True}
    added = await shop.admin.post(f"{shop.path}/artifacts/{artifact['id']}/evidence", body)
    assert added["source"] == "development"
    assert await refusals(shop, artifact) == ["There is no smoke evidence."]


async def test_tenant_that_requires_smoke_launches_believes_no_publisher(shop: Workshop) -> None:
    body = {"require_signature": False, "require_smoke_launch": True, "reason": "the auditors ask"}
    policy = await shop.admin.call("PUT", f"/tenants/{shop.tenant_id}/trust-policy", body)
    assert policy.json()["require_smoke_launch"] is True
    kept = {"require_signature": False, "reason": "an older client does not know the field"}
    policy = await shop.admin.call("PUT", f"/tenants/{shop.tenant_id}/trust-policy", kept)
    assert policy.json()["require_smoke_launch"] is True
    unnamed = await shop.publish_blob(CONTENT)
    await shop.evidence(unnamed, "smoke")
    assert (await shop.move(unnamed, "staged")).status_code == 200, "nothing launches a file that no version names"


LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG = "application/vnd.oci.image.config.v1+json"
DIGEST = "sha256:" + "0" * 64


def image(config: object = None, layer: str = LAYER, config_type: str = CONFIG) -> ImageDocuments:
    manifest = {"config": {"mediaType": config_type}, "layers": [{"mediaType": layer}]}
    document = {"os": "linux", "architecture": "amd64", "rootfs": {"diff_ids": [DIGEST]}} if config is None else config
    return ImageDocuments(manifest, json.dumps(document).encode())


def test_lint_of_an_image_names_every_fault_and_what_a_person_should_know() -> None:
    fine = lint_image([image()])
    assert fine.passed
    assert "names no command" in fine.summary
    assert "runs as root" in fine.summary
    bad = lint_image([image({"os": "windows", "config": {"Entrypoint": "sh"}}, "text/plain", "text/html")])
    assert len(bad.faults) == 6
    assert not lint_image([]).passed
    assert not lint_image([ImageDocuments({"config": {}, "layers": []}, None)]).passed
    assert not lint_image([image([1])]).passed


def test_lint_of_a_file_reads_what_its_media_type_promises() -> None:
    assert lint_blob("application/octet-stream", 1, b"x").passed
    assert not lint_blob("application/octet-stream", 0, b"").passed
    assert lint_blob("application/x-tar", 512, bytes(257) + b"ustar").passed
    assert not lint_blob("application/x-tar", 512, bytes(512)).passed
