"""Access to an allocation over HTTP: certificates, grants, people's keys, host certificates."""

import json
from datetime import datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_server.access import service
from gpuaas_server.allocations.hooks import NewGrants
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from tests_support.agents import Host, Json, Site, inventory, slot, ssh_line


class Lab:
    """A ready node, a project, and an allocation on the node that its agent has made active."""

    def __init__(self, site: Site, host: Host, project: str, allocation: str) -> None:
        self.site, self.host, self.allocation = site, host, allocation
        self.path = f"/projects/{project}/allocations/{allocation}"
        self.project = project


@pytest.fixture
async def lab(site: Site) -> Lab:
    host = await site.host()
    await host.call("POST", "/inventory", inventory(slot(0), slot(1)))
    await site.admin.post(f"/nodes/{host.node_id}/slots/approve", {})
    tenant = (await site.admin.post("/tenants", {"slug": "acme", "name": "Acme"}))["id"]
    project = (await site.admin.post(f"/tenants/{tenant}/projects", {"slug": "train", "name": "Train"}))["id"]
    sku = {"name": "h100", "shape": "gpu_slice", "gpu_model": slot(0)["gpu_model"], "gpu_counts": [1]}
    await site.admin.post("/skus", sku | {"price_per_gpu_hour_minor": 200, "currency": "EUR"})
    made = await site.admin.post(f"/projects/{project}/allocations", {"sku": "h100", "gpu_count": 1})
    return Lab(site, host, str(project), made["items"][0]["id"])


async def activate(lab: Lab) -> None:
    async with lab.site.platform.database.connection(PLATFORM) as connection:
        await connection.execute(
            "UPDATE allocations SET state = 'active', ssh_address = '10.0.0.1', ssh_port = 2201, ssh_user = 'gpu'"
            " WHERE id = %s",
            (lab.allocation,),
        )


def soon() -> str:
    return (utc_now() + timedelta(hours=1)).isoformat()


async def test_a_certificate_names_the_allocation_and_how_to_get_there(lab: Lab) -> None:
    await activate(lab)
    answer = await lab.site.admin.post(f"{lab.path}/ssh-certificates", {"public_key": ssh_line()})
    assert answer["certificate"].startswith("ssh-ed25519-cert-v01@openssh.com ")
    assert answer["principal"] == lab.allocation
    assert answer["ssh"] == {"address": "10.0.0.1", "port": 2201, "user": "gpu"}
    trusted = (await lab.site.admin.get("/ssh-ca"))["host_ca_keys"][0]
    assert answer["known_hosts_line"] == f"@cert-authority [10.0.0.1]:2201,{lab.allocation} {trusted}"
    again = await lab.site.admin.post(f"{lab.path}/ssh-certificates", {"public_key": ssh_line(), "minutes": 1})
    assert again["serial"] > answer["serial"]


async def test_an_allocation_that_is_not_active_gets_no_certificate(lab: Lab) -> None:
    body = {"public_key": ssh_line()}
    assert (await lab.site.admin.call("POST", f"{lab.path}/ssh-certificates", body)).json()["code"] == "not_active"


@pytest.mark.parametrize("minutes", [0, 61, -1, 2**70, "5"])
async def test_a_certificate_of_another_length_is_refused(lab: Lab, minutes: object) -> None:
    await activate(lab)
    body = {"public_key": ssh_line(), "minutes": minutes}
    assert (await lab.site.admin.call("POST", f"{lab.path}/ssh-certificates", body)).status_code == 422


async def test_a_grant_is_sent_to_the_host_until_it_is_revoked_or_expires(lab: Lab) -> None:
    line = ssh_line()
    made = await lab.site.admin.post(f"{lab.path}/ssh-grants", {"public_key": line + " me", "expires_at": soon()})
    async with lab.site.platform.database.connection(PLATFORM) as connection:
        (grant,) = (await service.grants_of(connection, [lab.allocation]))[lab.allocation]
        assert (grant.grant_id, grant.public_key) == (made["id"], line)
        assert await service.grants_of(connection, [lab.allocation], utc_now() + timedelta(hours=2)) == {}
    assert (await lab.site.admin.get(f"{lab.path}/ssh-grants"))["items"] == [made]
    assert (await lab.site.admin.call("DELETE", f"{lab.path}/ssh-grants/{made['id']}")).status_code == 204
    assert (await lab.site.admin.call("DELETE", f"{lab.path}/ssh-grants/{made['id']}")).status_code == 404
    async with lab.site.platform.database.connection(PLATFORM) as connection:
        assert await service.grants_of(connection, [lab.allocation]) == {}


@pytest.mark.parametrize(
    "body",
    [
        {"expires_at": soon()},
        {"public_key": ssh_line(), "ssh_key_id": new_id("ssk"), "expires_at": soon()},
        {"public_key": ssh_line(), "expires_at": "2020-01-01T00:00:00Z"},
        {"public_key": ssh_line(), "expires_at": "9999-01-01T00:00:00Z"},
        {"public_key": ssh_line(), "expires_at": "2030-01-01T00:00:00"},
        {"public_key": "ssh-rsa AAAA", "expires_at": soon()},
    ],
)
async def test_a_senseless_grant_is_refused(lab: Lab, body: Json) -> None:
    assert (await lab.site.admin.call("POST", f"{lab.path}/ssh-grants", body)).status_code == 422


async def test_a_stored_key_is_kept_once_and_can_be_granted(lab: Lab) -> None:
    admin, body = lab.site.admin, {"name": "laptop", "public_key": ssh_line()}
    key = await admin.post("/me/ssh-keys", body)
    assert (await admin.call("POST", "/me/ssh-keys", body)).json()["code"] == "already_exists"
    grant = await admin.post(f"{lab.path}/ssh-grants", {"ssh_key_id": key["id"], "expires_at": soon()})
    assert grant["fingerprint"] == key["fingerprint"]
    assert (await admin.get("/me/ssh-keys"))["items"] == [key]
    assert (await admin.call("DELETE", f"/me/ssh-keys/{key['id']}")).status_code == 204
    answer = await admin.call("POST", f"{lab.path}/ssh-grants", {"ssh_key_id": key["id"], "expires_at": soon()})
    assert answer.status_code == 404


async def test_stored_keys_are_put_on_new_allocations_in_one_go(lab: Lab) -> None:
    key = await lab.site.admin.post("/me/ssh-keys", {"name": "laptop", "public_key": ssh_line()})
    me, tenant = await lab.site.admin.get("/me"), new_id("tnt")
    ids = [new_id("alc"), new_id("alc")]
    async with lab.site.platform.transaction(PLATFORM, system_actor("test")) as tx:
        wanted = NewGrants(tenant, lab.project, ids, me["id"], [key["id"]])
        await service.grants_create_from_keys(tx, wanted)
        assert [len(granted) for granted in (await service.grants_of(tx.connection, ids)).values()] == [1, 1]


async def test_an_allocation_is_made_with_the_keys_that_may_log_in(lab: Lab) -> None:
    admin, path = lab.site.admin, f"/projects/{lab.project}/allocations"
    keys = [await admin.post("/me/ssh-keys", {"name": f"key {n}", "public_key": ssh_line()}) for n in range(2)]
    wanted = {"sku": "h100", "gpu_count": 1, "ssh_key_ids": [key["id"] for key in keys]}
    made = (await admin.post(path, wanted))["items"][0]
    grants = (await admin.get(f"{path}/{made['id']}/ssh-grants"))["items"]
    assert {grant["fingerprint"] for grant in grants} == {key["fingerprint"] for key in keys}
    assert all(datetime.fromisoformat(g["expires_at"]) <= utc_now() + timedelta(days=366) for g in grants)


async def test_an_unknown_key_claims_nothing(lab: Lab) -> None:
    path, missing = f"/projects/{lab.project}/allocations", new_id("ssk")
    answer = await lab.site.admin.call("POST", path, {"sku": "h100", "gpu_count": 1, "ssh_key_ids": [missing]})
    assert (answer.status_code, answer.json()["details"]) == (404, {"ssh_key_ids": [missing]})
    assert [one["id"] for one in (await lab.site.admin.get(path))["items"]] == [lab.allocation]
    states = [one["status"] for one in (await lab.site.admin.get(f"/nodes/{lab.host.node_id}/slots"))["items"]]
    assert sorted(states) == ["available", "claimed"]


async def test_an_allocation_takes_sixteen_keys_at_most(lab: Lab) -> None:
    wanted = {"sku": "h100", "gpu_count": 1, "ssh_key_ids": [new_id("ssk") for _ in range(17)]}
    assert (await lab.site.admin.call("POST", f"/projects/{lab.project}/allocations", wanted)).status_code == 422


async def test_a_host_gets_certificates_for_itself_and_its_allocations_only(lab: Lab) -> None:
    other = await lab.site.host("host-2", "10.0.0.2")
    body: Json = {"allocation_id": lab.allocation, "public_key": ssh_line(), "address": "10.0.0.1"}
    answer = await lab.host.call("POST", "/host-certificates", body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["certificate"].startswith("ssh-ed25519-cert-v01@openssh.com ")
    own = body | {"allocation_id": None}
    assert (await lab.host.call("POST", "/host-certificates", own)).status_code == 200
    foreign = await other.call("POST", "/host-certificates", body | {"address": "10.0.0.2"})
    assert foreign.json()["code"] == "forbidden"
    spoofed = await other.call("POST", "/host-certificates", own)
    assert spoofed.json()["code"] == "forbidden"


async def test_no_answer_or_audit_row_holds_a_private_key(lab: Lab) -> None:
    await activate(lab)
    await lab.site.admin.post(f"{lab.path}/ssh-certificates", {"public_key": ssh_line(Ed25519PrivateKey.generate())})
    assert "PRIVATE" not in json.dumps(await lab.site.admin.get("/audit?limit=200"))
    ca = await lab.site.client.get("/agent/ca")
    assert ca.json()["ca_pem"].startswith("-----BEGIN CERTIFICATE-----")
