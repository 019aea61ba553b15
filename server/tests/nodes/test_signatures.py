"""The signature of agent calls: one vector that another implementation can check itself against, and refusals."""

import base64
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.nodes import signatures
from gpuaas_server.nodes.gate import NonceMemory
from gpuaas_server.runtime import running_platform
from tests_support.agents import Host, Json, Site, serving

SEED = bytes(range(32))
NODE = "nod_01jb2c3d4e5f6g7h8j9kamnpqr"
NONCE = "00112233445566778899aabbccddeeff"
TARGET = "/api/v1/agent/tasks?wait=30&have=tsk_01jb2c3d4e5f6g7h8j9kamnpqr"
SIGNATURE = "lKEVO1avwikfs3LJR999Cf0t8ntJqUjJcjap_SO0qRLTtibDvpC1HWmS_OQlzCynYBPyOcw4ByZ_pq57HfzVCQ"


def test_the_published_vector_verifies() -> None:
    key = Ed25519PrivateKey.from_private_bytes(SEED)
    header = f"GPUAAS-AGENT node={NODE},ts=1730000000000,nonce={NONCE},sig={SIGNATURE}"
    signature = signatures.read_authorization(header)
    assert (
        signatures.signed_bytes("GET", TARGET, signature, b"")
        == (
            f"gpuaas-agent-v1\nGET\n{TARGET}\n1730000000000\n{NONCE}\n"
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        ).encode()
    )
    signatures.check_signature(key.public_key(), "GET", TARGET, signature, b"")


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [("POST", TARGET, b""), ("GET", TARGET + "x", b""), ("GET", TARGET, b"{}")],
)
def test_another_method_path_or_body_does_not_verify(method: str, target: str, body: bytes) -> None:
    key = Ed25519PrivateKey.from_private_bytes(SEED)
    header = f"GPUAAS-AGENT node={NODE},ts=1730000000000,nonce={NONCE},sig={SIGNATURE}"
    with pytest.raises(Problem, match="agent_signature_invalid"):
        signatures.check_signature(key.public_key(), method, target, signatures.read_authorization(header), body)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer abc",
        "GPUAAS-AGENT",
        f"GPUAAS-AGENT node={NODE},ts=1,nonce={NONCE},sig={SIGNATURE}",
        f"GPUAAS-AGENT node={NODE},ts=1730000000000,nonce={NONCE[:-1]},sig={SIGNATURE}",
        f"GPUAAS-AGENT node={NODE},ts=1730000000000,nonce={NONCE},sig={SIGNATURE}=",
        f"GPUAAS-AGENT node=nod_x,ts=1730000000000,nonce={NONCE},sig={SIGNATURE}",
        f"GPUAAS-AGENT node={NODE},ts=1730000000000,nonce={NONCE},sig={SIGNATURE}\n",
    ],
)
def test_a_malformed_header_is_refused(header: str) -> None:
    with pytest.raises(Problem, match="agent_signature_invalid"):
        signatures.read_authorization(header)


def test_a_read_nonce_is_remembered_as_long_as_its_signature_can_be_valid() -> None:
    memory, now = NonceMemory(), utc_now()
    assert memory.first_time(NODE, NONCE, now)
    assert not memory.first_time(NODE, NONCE, now)
    assert memory.first_time("nod_other", NONCE, now)
    limit = signatures.MAX_SKEW_MS * 2 / 1000
    assert not memory.first_time(NODE, NONCE, now + timedelta(seconds=limit))


async def refusal(host: Host, **how: int) -> Json:
    answer = await host.call("GET", "/tasks?wait=0", **how)
    assert answer.status_code in (401, 403), answer.text
    found: Json = answer.json()
    return found


async def test_a_forged_signature_is_refused(site: Site) -> None:
    host = await site.host()
    assert (await refusal(Host(site.client, node_id=host.node_id)))["code"] == "agent_signature_invalid"


async def test_a_node_that_never_enrolled_is_refused(site: Site) -> None:
    assert (await refusal(Host(site.client, node_id=new_id("nod"))))["code"] == "agent_signature_invalid"


async def test_a_clock_that_is_off_is_told_the_time(site: Site) -> None:
    host = await site.host()
    now_ms = int(utc_now().timestamp() * 1000)
    for ts_ms in (now_ms - 61_000, now_ms + 62_000):
        answer = await refusal(host, ts_ms=ts_ms)
        assert answer["code"] == "agent_clock_skew"
        assert abs(answer["details"]["server_time_ms"] - now_ms) < 5_000
    assert (await host.call("GET", "/tasks?wait=0", ts_ms=now_ms - 55_000)).status_code == 200


async def test_a_replayed_change_is_refused_by_every_replica(site: Site) -> None:
    host = await site.host()
    body = b'{"host":{"cpus":1,"memory_mib":1,"kernel":"6"},"slots":[]}'
    header = host.sign("POST", "/api/v1/agent/inventory", body)
    assert (await host.send("POST", "/inventory", body, header)).status_code == 200
    assert (await host.send("POST", "/inventory", body, header)).json()["code"] == "agent_replay"
    async with running_platform(site.platform.settings) as second, serving(second) as client:
        elsewhere = Host(client, host.key, host.node_id)
        assert (await elsewhere.send("POST", "/inventory", body, header)).json()["code"] == "agent_replay"


async def test_a_replayed_read_is_refused(site: Site) -> None:
    host = await site.host()
    header = host.sign("GET", "/api/v1/agent/tasks?wait=0", b"")
    assert (await host.send("GET", "/tasks?wait=0", b"", header)).status_code == 200
    assert (await host.send("GET", "/tasks?wait=0", b"", header)).json()["code"] == "agent_replay"


async def test_a_changed_body_under_a_good_signature_is_refused(site: Site) -> None:
    host = await site.host()
    header = host.sign("POST", "/api/v1/agent/inventory", b"{}")
    assert (await host.send("POST", "/inventory", b'{"a":1}', header)).json()["code"] == "agent_signature_invalid"


async def test_a_retired_node_is_refused(site: Site) -> None:
    host = await site.host()
    await site.admin.post(f"/nodes/{host.node_id}/retire", {"reason": "the board is broken"})
    assert (await refusal(host))["code"] == "node_retired"
    assert (await host.call("POST", "/inventory", {})).json()["code"] == "node_retired"


async def test_a_person_cannot_poll_and_an_agent_cannot_list_nodes(site: Site) -> None:
    host = await site.host()
    assert (await site.admin.call("GET", "/agent/tasks?wait=0")).json()["code"] == "agent_signature_invalid"
    header = {"Authorization": host.sign("GET", "/api/v1/nodes", b"")}
    assert (await site.client.get("/nodes", headers=header)).status_code == 401


def test_the_vector_above_is_what_the_key_signs() -> None:
    key = Ed25519PrivateKey.from_private_bytes(SEED)
    text = f"gpuaas-agent-v1\nGET\n{TARGET}\n1730000000000\n{NONCE}\n"
    text += "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert base64.urlsafe_b64encode(key.sign(text.encode())).rstrip(b"=").decode() == SIGNATURE
