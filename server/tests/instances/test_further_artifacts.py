"""A version may run from several artifacts: an image, and files that its containers read. Each passes the same check."""

import base64
import json

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from tests_support.agents import Json
from tests_support.apps import AppSite

IMAGE, WEIGHTS, SCRIPTS = (f"sha256:{letter * 64}" for letter in "bcd")


async def _publish(world: AppSite, version: str = "1.3.0", *further: str) -> None:
    files = [
        {"digest": digest, "path": f"/models/{place}"} for place, digest in enumerate(further or (WEIGHTS, SCRIPTS))
    ]
    profile = {"image": IMAGE, "artifacts": files}
    await world.publish(version=version, artifact={"kind": "oci", "digest": IMAGE}, runtime_profile=profile)


async def _pull_secret(world: AppSite, operation_id: str, key: X25519PrivateKey, **body: str) -> tuple[int, Json]:
    public = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    answer = await world.controller.send(operation_id, "runtime-secrets", {"recipient_key": public, **body})
    return answer.status_code, answer.json()


async def test_the_lease_of_an_operation_pulls_each_artifact_of_its_version_and_no_other(world: AppSite) -> None:
    await _publish(world)
    await world.publish(version="1.1.0", artifact={"kind": "controller", "digest": "sha256:" + "e" * 64})
    _, operation_id = await world.created(nodes=1)
    await world.controller.does(operation_id, "claim")
    key = X25519PrivateKey.generate()
    status, own = await _pull_secret(world, operation_id, key)
    assert (status, own["digest"]) == (201, IMAGE)
    status, secret = await _pull_secret(world, operation_id, key, digest=WEIGHTS)
    assert (status, secret["digest"], secret["kind"]) == (201, WEIGHTS, "blob")
    suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
    told = json.loads(
        suite.decrypt(base64.b64decode(secret["sealed"]), key, info=f"runtime-secret:{secret['id']}".encode())
    )
    artifact = (await world.artifact(WEIGHTS)).rpartition("/")[2]
    assert told["url"] == f"/api/v1/artifact-pulls/{artifact}"
    for foreign in ("sha256:" + "e" * 64, "sha256:" + "f" * 64):
        status, refused = await _pull_secret(world, operation_id, key, digest=foreign)
        assert (status, refused["code"]) == (409, "artifact_unknown")


async def test_a_revoked_file_stops_launches_and_flags_what_runs_with_it(world: AppSite) -> None:
    await _publish(world)
    instance_id = await world.running(nodes=1)
    assert (await world.instance(instance_id))["flags"] == []
    await world.revoke(SCRIPTS)
    shown = await world.instance(instance_id)
    assert [flag["code"] for flag in shown["flags"]] == ["artifact_revoked"]
    assert SCRIPTS in shown["flags"][0]["message"]
    refused = await world.create("second", nodes=1)
    assert (refused.status_code, refused.json()["code"]) == (409, "not_launchable")
    assert [reason["code"] for reason in refused.json()["details"]["reasons"]] == ["artifact_revoked"]
    repair = await world.ask(instance_id, "repair")
    assert (repair.status_code, repair.json()["code"]) == (409, "artifact_revoked")


async def test_a_version_to_return_to_is_flagged_too(world: AppSite) -> None:
    await _publish(world)
    instance_id = await world.running(nodes=1)
    await _publish(world, "1.4.0", SCRIPTS)
    await world.controller.carry_out(await world.asked(instance_id, "upgrade", version="1.4.0"))
    await world.revoke(WEIGHTS)
    assert [flag["code"] for flag in (await world.instance(instance_id))["flags"]] == ["previous_version_refused"]


async def test_a_file_that_a_version_names_is_neither_deleted_nor_retired(world: AppSite) -> None:
    await _publish(world)
    await world.running(nodes=1)
    path = await world.artifact(WEIGHTS)
    answer = await world.admin.call("DELETE", path)
    assert (answer.status_code, answer.json()["code"]) == (409, "artifact_in_use"), answer.text
    assert answer.json()["details"] == {"app_versions": ["echo 1.3.0"], "live_instances": 1}
    moved = await world.admin.call("POST", f"{path}/move", {"stage": "deprecated", "reason": "there are better ones"})
    assert (moved.status_code, moved.json()["code"]) == (409, "promotion_refused"), moved.text
