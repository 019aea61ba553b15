"""How hosts become nodes."""

import asyncio
import base64
import json
from datetime import timedelta

import pytest

from gpuaas_server.kernel.ids import is_id
from gpuaas_server.nodes.enrolment import make_bundle
from tests_support.agents import Host, MovableClock, Site


async def code_of(site: Site, token: str, host: Host | None = None) -> object:
    return (await (host or Host(site.client)).enrol(token)).json().get("code")


async def test_a_host_enrols_once_and_learns_whom_to_trust(site: Site) -> None:
    answer = (await Host(site.client).enrol(await site.token())).json()
    assert is_id("nod", answer["node_id"])
    assert len(base64.b64decode(answer["task_keys"][0]["public_key"])) == 32
    assert answer["user_ca_keys"][0].startswith("ssh-ed25519 ")
    assert answer["host_ca_keys"][0].startswith("ssh-ed25519 ")
    assert answer["poll_wait_seconds"] == 30
    node = await site.admin.get(f"/nodes/{answer['node_id']}")
    assert (node["status"], node["schedulable"], node["name"]) == ("enrolled", False, "host-1")


async def test_the_same_token_with_the_same_key_gets_the_same_node(site: Site) -> None:
    token, host = await site.token(), Host(site.client)
    first = (await host.enrol(token)).json()
    again = (await host.enrol(token)).json()
    assert again["node_id"] == first["node_id"]
    assert (await site.admin.get("/enrolment-tokens"))["items"][0]["uses"] == 1


async def test_the_same_token_with_the_renewed_key_of_its_node_gets_the_same_node(site: Site) -> None:
    token, host = await site.token(), Host(site.client)
    first = (await host.enrol(token)).json()
    assert (await host.rotate_key()).status_code == 200
    again = await host.enrol(token)
    assert (again.status_code, again.json()["node_id"], again.json()["key_generation"]) == (200, first["node_id"], 2)
    assert (await site.admin.get("/enrolment-tokens"))["items"][0]["uses"] == 1


async def test_the_same_token_with_another_key_is_refused(site: Site) -> None:
    token = await site.token()
    await Host(site.client).enrol(token)
    assert await code_of(site, token) == "enrolment_token_used"


async def test_two_hosts_racing_for_one_token_make_one_node(site: Site) -> None:
    token = await site.token()
    answers = await asyncio.gather(*(Host(site.client, hostname=f"h{i}").enrol(token) for i in range(6)))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409, 409]
    assert len((await site.admin.get("/nodes"))["items"]) == 1


async def test_a_token_for_three_takes_three_hosts_of_one_name(site: Site) -> None:
    token = await site.token(max_uses=3)
    for _ in range(3):
        assert await code_of(site, token) is None
    assert await code_of(site, token) == "enrolment_token_used"
    items = (await site.admin.get("/nodes"))["items"]
    assert len({node["name"] for node in items}) == 3


async def test_an_expired_token_is_refused(site: Site, clock: MovableClock) -> None:
    token, host = await site.token(expires_in_seconds=60), Host(site.client, clock=clock)
    clock.ahead += timedelta(seconds=61)
    assert await code_of(site, token, host) == "enrolment_token_invalid"


async def test_a_revoked_token_is_refused(site: Site) -> None:
    made = await site.admin.post("/enrolment-tokens", {"note": "rack 4"})
    assert (await site.admin.call("DELETE", f"/enrolment-tokens/{made['id']}")).status_code == 204
    packed = str(made["bundle"]).removeprefix("gpuaas-enrol.v1.")
    token = json.loads(base64.urlsafe_b64decode(packed + "=="))["token"]
    assert await code_of(site, token) == "enrolment_token_invalid"


async def test_a_made_up_token_is_refused(site: Site) -> None:
    assert await code_of(site, "x" * 43) == "enrolment_token_invalid"


async def test_enrolment_with_a_signature_of_another_key_is_refused(site: Site) -> None:
    host, thief = Host(site.client), Host(site.client)
    host.sign = thief.sign  # type: ignore[method-assign]
    assert await code_of(site, await site.token(), host) == "agent_signature_invalid"


async def test_a_host_that_kept_its_key_is_the_node_it_was(site: Site) -> None:
    host = await site.host()
    before = host.node_id
    await host.enrol(await site.token())
    assert host.node_id == before


async def test_the_token_is_in_no_audit_row_and_not_in_the_list(site: Site) -> None:
    token = await site.token(note="first rack")
    for path in ("/audit", "/enrolment-tokens", "/events"):
        assert token not in json.dumps(await site.admin.get(path))


@pytest.mark.parametrize("urls", [["https://a:1"], ["http://127.0.0.1:1", "https://b"]])
def test_a_bundle_for_https_pins_the_platform_ca(urls: list[str]) -> None:
    packed = make_bundle(urls, "ab" * 32, "t").removeprefix("gpuaas-enrol.v1.")
    content = json.loads(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))
    assert content == {"urls": urls, "token": "t", "ca_sha256": "ab" * 32}
