"""A person completes a version at launch with an image of the own project: it is pinned, checked, pulled and revoked as any."""

import base64
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from gpuaas_server.catalog.profile_inputs import check_profile_inputs, completed
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from tests_support.agents import Json
from tests_support.apps import AppSite
from tests_support.manifests import DIGEST, manifest_of

OWN, BLOB, DRAFT, FOREIGN, NOWHERE = (f"sha256:{letter * 64}" for letter in "bcdef")
TEXTS = {"type": "array", "items": {"type": "string"}}
INPUTS: Json = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "image": {"type": "string", "x-artifact": "oci"},
        "command": TEXTS,
        "ports": {"type": "array", "items": {"type": "integer"}},
        "environment": {"type": "object"},
    },
}
PROFILE: Json = {
    "image": DIGEST,
    "from_inputs": {"image": "/image", "command": "/command", "ports": "/ports", "env": "/environment"},
    "env": {"MODE": "production"},
    "ports": [{"container_port": 8080, "host_port": 7007}, {"container_port": 8081, "host_port": 7008}],
}
CHANGES: Json = {
    "version": "2.0.0",
    "artifact": {"kind": "oci", "digest": DIGEST},
    "runtime_profile": PROFILE,
    "inputs": INPUTS,
    "footprint": {"ports": [{"port": 7007}, {"port": 7008}]},
    "probes": [
        {"key": f"p{port}", "component": "head", "kind": "tcp", "port": port, "purpose": ["liveness"]}
        for port in (7007, 7008)
    ],
    "ui": {"endpoints": [{"key": "second", "label": "Second", "component": "head", "port": 7008}]},
}


async def _add_artifact(site: AppSite, digest: str, kind: str = "oci", stage: str = "active") -> None:
    async with site.platform.database.connection(PLATFORM) as connection:
        await connection.execute(
            "INSERT INTO artifacts (id, tenant_id, project_id, kind, name, digest, size_bytes, media_type, location, stage,"
            " stage_since, trust, trust_detail, signed_by, signatures, created_by, created_at) VALUES (%s, %s, %s, %s, 'own',"
            " %s, 1, 'x', 'x', %s, now(), 'unverified', '', '{}', '{}', 'usr_x', now())",
            (new_id("art"), site.tenant_id, site.project_id, kind, digest, stage),
        )


@pytest.fixture
async def tenant(world: AppSite) -> AppSite:
    """Another tenant, which may launch acme's app and has an image of its own."""
    await world.publish(**CHANGES)
    (app,) = (await world.admin.get("/apps"))["items"]
    visible = {"visibility": "public", "reason": "for everybody"}
    assert (await world.admin.call("PUT", f"/apps/{app['id']}/visibility", visible)).status_code == 200
    made = await world.another_tenant("globex")
    await _add_artifact(made, OWN)
    made.controller = await made.another_controller("replica-9", name="globex-controller")
    return made


async def _launch(site: AppSite, name: str = "mine", **inputs: object) -> tuple[int, Json]:
    answer = await site.create(name, nodes=1, version="2.0.0", inputs=inputs)
    return answer.status_code, answer.json()


async def _refusal_of_pull(site: AppSite, operation_id: str, digest: str) -> str:
    """The code of the refusal: there is no registry here, so that what may be pulled cannot be."""
    key = base64.b64encode(X25519PrivateKey.generate().public_key().public_bytes_raw()).decode()
    body = {"recipient_key": key, "digest": digest}
    return str((await site.controller.send(operation_id, "runtime-secrets", body)).json()["code"])


async def test_the_image_is_pinned_on_the_instance_and_the_lease_pulls_it_and_no_other(tenant: AppSite) -> None:
    status, started = await _launch(tenant, image=OWN, ports=[80], command=["/bin/serve", "--all"])
    assert (status, started["instance"]["digest"]) == (201, OWN), started
    operation_id = started["operation"]["id"]
    claimed = await tenant.controller.does(operation_id, "claim")
    profile = claimed["instance"]["version"]["manifest"]["runtime_profile"]
    assert (profile["image"], profile["command"]) == (OWN, ["/bin/serve", "--all"])
    assert profile["ports"] == [{"container_port": 80, "host_port": 7007}]
    assert await _refusal_of_pull(tenant, operation_id, OWN) == "registry_not_configured"
    assert await _refusal_of_pull(tenant, operation_id, DIGEST) == "artifact_unknown"


async def test_without_an_answer_the_versions_own_image_runs(tenant: AppSite) -> None:
    status, started = await _launch(tenant)
    assert status == 201, started
    assert started["instance"]["digest"] == DIGEST


async def test_a_revoked_image_flags_what_runs_from_it_and_stops_what_would_bring_it(tenant: AppSite) -> None:
    _, started = await _launch(tenant, image=OWN)
    instance_id = started["instance"]["id"]
    await tenant.controller.carry_out(started["operation"]["id"])
    path = await tenant.artifact(OWN)
    in_use = (await tenant.admin.call("DELETE", path)).json()
    assert (in_use["code"], in_use["details"]["live_instances"]) == ("artifact_in_use", 1)
    await tenant.revoke(OWN)
    assert [flag["code"] for flag in (await tenant.instance(instance_id))["flags"]] == ["artifact_revoked"]
    refused = await tenant.ask(instance_id, "reconcile")
    assert (refused.status_code, refused.json()["code"]) == (409, "artifact_revoked"), refused.text
    status, again = await _launch(tenant, "second", image=OWN)
    assert (status, again["code"]) == (409, "not_launchable")
    assert [reason["code"] for reason in again["details"]["reasons"]] == ["artifact_revoked"]


@pytest.mark.parametrize(
    ("digest", "reason"), [(BLOB, "artifact_kind"), (FOREIGN, "artifact_unknown"), (NOWHERE, "artifact_unknown")]
)
async def test_an_image_that_is_none_or_of_somebody_else_is_refused(
    world: AppSite, tenant: AppSite, digest: str, reason: str
) -> None:
    await _add_artifact(tenant, BLOB, kind="blob")
    await _add_artifact(world, FOREIGN)  # the publisher's
    status, refused = await _launch(tenant, image=digest)
    assert (status, refused["code"]) == (409, "not_launchable")
    assert [one["code"] for one in refused["details"]["reasons"]] == [reason]


async def test_a_draft_passes_the_same_check_as_every_artifact(tenant: AppSite) -> None:
    await _add_artifact(tenant, DRAFT, stage="draft")
    status, refused = await _launch(tenant, image=DRAFT)
    assert (status, refused["code"]) == (409, "not_launchable")
    assert (await tenant.admin.get(f"{tenant.path}/instances"))["items"] == []


def test_what_is_not_offered_is_neither_probed_nor_shown() -> None:
    manifest = manifest_of(**CHANGES).document
    made = completed(manifest, {"ports": [80], "environment": {"LEVEL": "2"}})
    assert [probe["port"] for probe in made["probes"]] == [7007]
    assert made["ui"]["endpoints"] == []
    assert made["runtime_profile"]["env"] == {"MODE": "production", "LEVEL": "2"}
    assert made["artifact"] == manifest["artifact"]
    assert "from_inputs" in manifest["runtime_profile"], "the registered manifest stays as it is"


def test_a_version_that_asks_for_nothing_stays_as_it_is() -> None:
    manifest = manifest_of().document
    check_profile_inputs(manifest, {"greeting": "hello"})
    assert completed(manifest, {"greeting": "hello"}) is manifest


@pytest.mark.parametrize(
    "inputs",
    [
        {"image": "debian:latest"},
        {"image": OWN + "\n"},
        {"command": ["a\nb"]},
        {"command": ["a"] * 200},
        {"environment": {"GPUAAS_URL": "x"}},
        {"environment": {"A B": "x"}},
        {"environment": {"A": "x\ny"}},
        {"environment": {"A": 1}},
        {"ports": [0]},
        {"ports": [80, 80]},
        {"ports": [80, 81, 82]},
        {"ports": [True]},
    ],
)
def test_answers_that_cannot_be_part_of_a_profile_are_refused(inputs: dict[str, Any]) -> None:
    with pytest.raises(Problem) as refused:
        check_profile_inputs(manifest_of(**CHANGES).document, inputs)
    assert refused.value.code == "inputs_invalid"


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"inputs": {"type": "object"}}, "runtime_profile.from_inputs.image"),
        (
            {"runtime_profile": {**PROFILE, "artifacts": [{"digest": OWN, "path": "/w"}]}},
            "runtime_profile.from_inputs.image",
        ),
        ({"runtime_profile": {**PROFILE, "ports": [{"container_port": 7007}]}}, "runtime_profile.from_inputs.ports"),
        ({"runtime_profile": {**PROFILE, "from_inputs": {"user": "/image"}}}, "runtime_profile.from_inputs.user"),
    ],
)
def test_a_manifest_that_asks_for_what_it_cannot_take_is_refused(changes: Json, path: str) -> None:
    with pytest.raises(Problem) as refused:
        manifest_of(**{**CHANGES, **changes})
    faults = refused.value.details["faults"]
    assert isinstance(faults, list)
    assert path in {fault["path"] for fault in faults}
