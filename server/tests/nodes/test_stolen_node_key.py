"""A copied node key against the API, with real signatures: what is not this node's own current duty is refused and audited,
and after a release the key is dead for every endpoint of agents, also for those that do not exist yet.
"""

import asyncio
import base64
import json
import re
import subprocess
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fastapi.routing import APIWebSocketRoute
from starlette.routing import BaseRoute
from starlette.types import Message

from gpuaas_server.app import build_app
from gpuaas_server.kernel.context import Actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.logs.tickets import Ticket, write_ticket
from gpuaas_server.terminals import holder_lease
from tests_support.agents import Host, Json, Site, inventory, serving, slot, ssh_line
from tests_support.allocation_story import Story
from tests_support.select import select

pytestmark = pytest.mark.hostile

API = "/api/v1/agent"
# The platform's CA is public, and enrolling is signed by a key that no node has yet.
OPEN = {"agent_ca"}
ENROL = "agent_enrol"
IDS = {"task_id": new_id("tsk"), "terminal_id": new_id("trm"), "read_id": new_id("lgr")}


def websockets(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, str]]:
    for route in routes:
        if isinstance(route, APIWebSocketRoute):
            yield route.path, str(route.name)


def endpoints(site: Site) -> list[tuple[str, str, str]]:
    """(method, path, name) of every call that an agent can make: by the OpenAPI document, and WebSockets by the routes."""
    app = build_app(site.platform)
    found = [
        (method.upper(), path, str(operation["operationId"]))
        for path, methods in app.openapi()["paths"].items()
        for method, operation in methods.items()
    ]
    found += [("WEBSOCKET", path, name) for path, name in websockets(app.routes)]
    return [
        (method, re.sub(r"\{(\w+)\}", lambda part: IDS[part.group(1)], path.removeprefix(API)), name)
        for method, path, name in found
        if path.startswith(API) and name not in OPEN
    ]


async def refusal_of(site: Site, thief: Host, method: str, path: str, name: str) -> str:
    """The code that the call is refused with, "" when it was not."""
    if name == ENROL:
        answer = await thief.enrol(await site.token())
    elif method == "WEBSOCKET":
        return await _websocket_refusal(site, thief, path)
    else:
        answer = await thief.call(method, path, None if method == "GET" else {})
    return "" if answer.status_code < 400 else str(answer.json()["code"])


async def _websocket_refusal(site: Site, thief: Host, path: str) -> str:
    sent = await _websocket_answers(site, thief, path)
    assert not any(message["type"] == "websocket.accept" for message in sent)
    body = b"".join(message.get("body", b"") for message in sent)
    return str(httpx.Response(401, content=body).json()["code"])


async def _websocket_answers(site: Site, thief: Host, path: str, *texts: str) -> list[Message]:
    """What the platform sends to a WebSocket that the thief opens, from where they are, and sends these texts to."""
    sent: list[Message] = []
    said: list[Message] = [{"type": "websocket.connect"}]
    said += [{"type": "websocket.receive", "text": text} for text in texts]

    async def receive() -> Message:
        return said.pop(0) if said else {"type": "websocket.disconnect", "code": 1000}

    async def send(message: Message) -> None:
        sent.append(message)

    signed = thief.sign("GET", API + path, b"").encode()
    scope = {
        "type": "websocket",
        "path": API + path,
        "raw_path": (API + path).encode(),
        "query_string": b"",
        "headers": [(b"authorization", signed), (b"host", b"test")],
        "client": thief.client._transport.client,  # type: ignore[attr-defined]
        "server": ("test", 80),
        "scheme": "ws",
        "subprotocols": [],
        "extensions": {"websocket.http.response": {}},
        "state": {},
    }
    app = build_app(site.platform)
    async with app.state.agent_gate.running(), app.state.gate.running():
        await app(scope, receive, send)
    return sent


async def told(site: Site, kind: str) -> list[Json]:
    items = (await site.admin.get("/events?limit=200"))["items"]
    return [event["data"] for event in items if event["type"] == kind]


async def denied(site: Site, action: str) -> list[Json]:
    items = (await site.admin.get(f"/audit?action={action}&limit=200"))["items"]
    return [row for row in items if row["outcome"] == "denied"]


@asynccontextmanager
async def elsewhere(site: Site, host: Host) -> AsyncIterator[Host]:
    """The same key, used from another machine."""
    async with serving(site.platform, "203.0.113.7") as client:
        yield Host(client, host.key, host.node_id, clock=host.clock)


def copied(host: Host) -> Host:
    """The same key, used on the host itself: by a tenant who is root there."""
    return Host(host.client, host.key, host.node_id, clock=host.clock)


@pytest.fixture
async def story(site: Site) -> Story:
    """An active allocation of a whole host."""
    made = await Story.begin(site)
    await made.create()
    return made


def test_every_endpoint_of_agents_is_tried(site: Site) -> None:
    names = {name for _, _, name in endpoints(site)}
    assert {ENROL, "agent_heartbeat", "agent_key_rotate", "agent_task_poll", "agent_terminal_stream"} <= names
    assert len(names) >= 9


async def test_after_a_release_the_key_is_dead_for_every_endpoint(site: Site, story: Story) -> None:

    thief = copied(story.host)
    await story.ask("release")
    assert await story.settle(clean=True) == "released"
    for method, path, name in endpoints(site):
        assert await refusal_of(site, thief, method, path, name) == "node_key_replaced", name
    tried = {name for _, _, name in endpoints(site)} - {ENROL}
    for name in sorted(tried):
        [row] = await denied(site, name)
        assert (row["resource_id"], row["details"]["why"]) == (story.host.node_id, "node_key_replaced")
    assert (await story.host.call("GET", "/tasks?wait=0")).status_code == 200


async def test_off_the_host_the_live_key_is_refused_by_every_endpoint_and_told(site: Site, story: Story) -> None:
    async with elsewhere(site, story.host) as thief:
        calls = endpoints(site)
        for method, path, name in calls:
            assert await refusal_of(site, thief, method, path, name) == "node_key_wrong_network", name
            assert await refusal_of(site, thief, method, path, name) == "node_key_wrong_network", name
    found = await told(site, "node.key_used_elsewhere")
    assert sorted(event["call"] for event in found) == sorted(name for _, _, name in calls)
    assert {event["address"] for event in found} == {"203.0.113.7"}
    assert (await story.host.call("GET", "/tasks?wait=0")).status_code == 200


async def test_enrolling_elsewhere_does_not_move_a_node_while_a_tenant_is_there(site: Site, story: Story) -> None:
    """The tenant has the key, and with it a token: a new one, or the one that the host has used."""
    host, token = story.host, await site.token()
    assert (await host.enrol(token)).status_code == 200
    recorded = (await site.admin.get(f"/nodes/{host.node_id}"))["source_networks"]
    async with elsewhere(site, host) as thief:
        for shown in (token, await site.token()):
            refused = await thief.enrol(shown)
            assert (refused.status_code, refused.json()["code"]) == (403, "node_key_wrong_network")
    assert (await site.admin.get(f"/nodes/{host.node_id}"))["source_networks"] == recorded
    [event] = await told(site, "node.key_used_elsewhere")
    assert (event["call"], event["address"]) == (ENROL, "203.0.113.7")
    assert (await host.enrol(await site.token())).status_code == 200, "the host itself enrols again"
    await story.ask("release")
    assert await story.settle(clean=True) == "released"
    async with elsewhere(site, host) as moved:
        assert (await moved.enrol(await site.token())).status_code == 200
        assert (await moved.call("GET", "/tasks?wait=0")).status_code == 200


async def test_a_former_key_gets_no_answer_for_the_token_that_it_had(site: Site) -> None:
    token = await site.token()
    host = Host(site.client)
    assert (await host.enrol(token)).status_code == 200
    assert (await host.enrol(token)).status_code == 200, "the answer may have been lost"
    thief = copied(host)
    assert (await host.rotate_key()).status_code == 200
    refused = await thief.enrol(token)
    assert (refused.status_code, refused.json()["code"]) == (401, "node_key_replaced")


async def test_a_clean_verification_counts_only_from_a_newer_key(site: Site, story: Story) -> None:
    """The tenant copied the key and answers for the agent, which never made a new one."""
    thief = copied(story.host)
    await story.ask("release")
    for _ in range(6):
        await story.work()
        for task in await thief.poll():
            result = {"clean": True, "checks": []}
            evidence = {"baseline_sha256": "a"}
            answer = await thief.report(task, rotate=False, result=result, evidence=evidence)
            assert answer.status_code == 200
    found = await story.show()
    assert (found["state"], found["failure"]["code"]) == ("release_failed", "node_key_not_rotated")
    assert {status for status, _ in await story.slots()} == {"cleanup_blocked"}
    await story.ask("retry-release")
    assert await story.settle(clean=True) == "released"


async def test_a_key_that_was_made_while_the_tenant_was_still_there_proves_nothing(site: Site, story: Story) -> None:
    """The tenant's processes outlived the first deprovision, and the agent renewed its key: that one is copied, too."""
    await story.ask("release")
    await story.work()
    [task] = await story.host.poll()
    busy: Json = {"code": "busy", "message": "A process is stuck.", "next_step": "Wait.", "retryable": True}
    assert (await story.host.report(task, "failed", failure=busy)).status_code == 200
    assert (await story.host.rotate_key()).status_code == 200
    thief, told_to = copied(story.host), []
    for _ in range(6):
        await story.work()
        for task in await thief.poll():
            told_to.append(task["kind"])
            report = await thief.report(task, rotate=False, result={"clean": True}, evidence={"baseline_sha256": "a"})
            assert report.status_code == 200
    assert told_to == ["deprovision", "wipe", "verify_wipe"]
    found = await story.show()
    assert (found["state"], found["failure"]["code"]) == ("release_failed", "node_key_not_rotated")


async def test_a_poll_that_waits_with_the_old_key_gets_nothing(site: Site, story: Story) -> None:
    thief = copied(story.host)
    waiting = asyncio.create_task(thief.call("GET", "/tasks?wait=30"))
    await asyncio.sleep(0.2)
    assert (await story.host.rotate_key()).status_code == 200
    await site.admin.post(f"/nodes/{story.host.node_id}/discover")
    answer = await waiting
    assert answer.status_code == 401 or answer.json()["tasks"] == []
    assert [task["kind"] for task in await story.host.poll()] == ["discover"]


async def test_another_nodes_tasks_results_and_progress_are_out_of_reach(site: Site, story: Story) -> None:
    other = await site.host("host-2")
    await site.admin.post(f"/nodes/{other.node_id}/discover")
    [task] = await other.poll()
    thief = copied(story.host)
    assert [one["node_id"] for one in await thief.poll()] == []
    assert (await thief.report(task)).json()["code"] == "task_not_found"
    progress = {"generation": task["generation"], "phases": []}
    path = f"/tasks/{task['task_id']}/progress"
    assert (await thief.call("POST", path, progress)).json()["code"] == "task_not_found"
    assert len(await denied(site, "agent_task_result")) == len(await denied(site, "agent_task_progress")) == 1
    assert (await other.report(task, result={"inventory": inventory(slot(0))})).status_code == 200


async def test_terminals_and_logs_of_another_node_are_refused_and_on_record(site: Site, story: Story) -> None:
    """What only the database knows to be another node's: the call itself is well signed, from the right place."""
    thief = copied(await site.host("host-2"))
    terminal = await site.admin.post(f"{story.path}/terminals", {"columns": 80, "rows": 24})
    hello = json.dumps({"public_key": ssh_line()})
    answers = await _websocket_answers(site, thief, f"/terminals/{terminal['id']}/stream", hello)
    [refusal] = [json.loads(one["text"]) for one in answers if one["type"] == "websocket.send"]
    assert (refusal["type"], refusal["code"]) == ("refused", "conflict")
    ticket = Ticket(IDS["read_id"], new_id("mem"), story.host.node_id, "127.0.0.1:1/x")
    portion: Json = {"lines": [], "left_out": 0, "more": False}
    for shown in (write_ticket(site.platform.sealer, ticket, site.platform.clock()), "00" * 60):
        refused = await thief.call("POST", f"/logs/{IDS['read_id']}", portion | {"ticket": shown})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    rows = [await denied(site, action) for action in ("agent_terminal_stream", "agent_log_report")]
    assert [len(found) for found in rows] == [1, 2]
    assert {row["resource_id"] for found in rows for row in found} == {thief.node_id}


async def test_a_result_counts_once_and_only_for_a_task_that_was_sent(site: Site, story: Story) -> None:
    thief = copied(story.host)
    await site.admin.post(f"/nodes/{thief.node_id}/discover")
    [task] = await story.host.poll()
    assert (await story.host.report(task, result={"inventory": inventory(slot(0), slot(1))})).status_code == 200
    again = await thief.report(task, result={"inventory": inventory(slot(0))})
    assert again.json()["code"] == "task_already_reported"
    assert (await thief.report({**task, "task_id": new_id("tsk")})).json()["code"] == "task_not_found"
    early = await thief.report({**task, "generation": task["generation"] + 1})
    assert early.json()["code"] == "stale_generation"
    refusals = [row["details"]["why"] for row in await denied(site, "agent_task_result")]
    assert sorted(refusals) == ["stale_generation", "task_already_reported", "task_not_found"]


async def test_no_host_certificate_for_another_address_or_allocation(site: Site, story: Story) -> None:
    other, thief = await site.host("host-2"), copied(story.host)
    wanted = {"public_key": ssh_line(), "address": story.host.address, "allocation_id": story.allocation}
    # An agent of an older release gets an address that nobody has, but not while a tenant has the whole host.
    for change in ({"address": other.address}, {"address": "8.8.8.8"}, {"allocation_id": new_id("alc")}):
        refused = await thief.call("POST", "/host-certificates", wanted | change)
        assert refused.status_code == 403, change
    taken = {"agent_version": "1", "boot_id": "b", "address": other.address, "ssh_host_public_key": ssh_line()}
    assert (await thief.call("POST", "/heartbeat", taken | {"slice_addresses": ["10.9.9.9"]})).status_code == 200
    node = await site.admin.get(f"/nodes/{thief.node_id}")
    assert node["address"] == story.host.address
    foreign = await other.call("POST", "/host-certificates", wanted | {"address": other.address})
    assert foreign.status_code == 403, "the allocation is claimed on another node"
    assert len(await denied(site, "agent_host_certificate")) == 4


async def test_an_inventory_without_the_drive_changes_nothing_while_the_tenant_is_there(
    site: Site, story: Story
) -> None:
    thief = copied(story.host)
    stripped = inventory(slot(0, nvme_device=None), slot(1, nvme_device=None))
    assert (await thief.call("POST", "/inventory", stripped)).status_code == 200
    items = (await site.admin.get(f"/nodes/{thief.node_id}/slots"))["items"]
    assert [one["nvme_device"] for one in items] == ["nvme0n1", "nvme1n1"]
    await story.ask("release")
    for _ in range(4):
        await story.work()
        for task in await story.host.poll():
            assert [one["nvme_device"] for one in task["spec"]["slots"]] == ["nvme0n1", "nvme1n1"], task["kind"]
            await story.host.report(task, result={"clean": True}, evidence={"baseline_sha256": "a"})
    await story.work()
    assert (await story.show())["state"] == "released"
    assert {status for status, _ in await story.slots()} == {"discovered"}, "somebody has to look at it"


async def test_a_key_cannot_be_exchanged_without_its_private_side_or_for_a_former_one(site: Site, story: Story) -> None:
    host, old = story.host, story.host.key
    assert (await host.rotate_key()).status_code == 200
    for new in (old, Ed25519PrivateKey.generate()):
        body = {
            "public_key": base64.b64encode(new.public_key().public_bytes_raw()).decode(),
            "proof": base64.b64encode(Ed25519PrivateKey.generate().sign(b"something else")).decode(),
        }
        assert (await host.call("POST", "/key", body)).status_code == 401
    former = {
        "public_key": base64.b64encode(old.public_key().public_bytes_raw()).decode(),
        "proof": base64.b64encode(old.sign(b"gpuaas-node-key-v1\n" + host.node_id.encode())).decode(),
    }
    assert (await host.call("POST", "/key", former)).json()["code"] == "node_key_replaced"


async def test_a_former_key_enrols_no_new_node(site: Site, story: Story) -> None:
    thief = copied(story.host)
    assert (await story.host.rotate_key()).status_code == 200
    answer = await thief.enrol(await site.token())
    assert (answer.status_code, answer.json()["code"]) == (401, "node_key_replaced")
    assert len((await site.admin.get("/nodes"))["items"]) == 1


async def test_a_terminal_that_the_thief_answers_opens_nothing_elsewhere(
    site: Site, story: Story, tmp_path: Path
) -> None:
    """The certificate is good on the host itself, where whoever is root needs none; and only with the live key."""
    terminal = await site.admin.post(f"{story.path}/terminals", {"columns": 80, "rows": 24})
    node = Actor(story.host.node_id, "node", "host-1")
    for wrong in (
        holder_lease.AnsweringNode(node, 2),
        holder_lease.AnsweringNode(Actor(new_id("nod"), "node", "x"), 1),
    ):
        with pytest.raises(Problem, match="No terminal with this id is expected"):
            await holder_lease.terminal_take(site.platform, wrong, terminal["id"], ssh_line(), "127.0.0.1:1/x")
    by = holder_lease.AnsweringNode(node, 1)
    taken = await holder_lease.terminal_take(site.platform, by, terminal["id"], ssh_line(), "127.0.0.1:1/x")
    assert sorted(await sources_of(taken.certificate, tmp_path)) == ["10.0.0.1/32", "127.0.0.0/8", "::1/128"]


async def sources_of(certificate: str, folder: Path) -> list[str]:
    file = folder / "key-cert.pub"
    file.write_text(certificate)
    shown = await asyncio.to_thread(subprocess.check_output, ["ssh-keygen", "-L", "-f", str(file)], text=True)
    return [one for found in re.findall(r"source-address (\S+)", shown) for one in found.split(",")]


async def test_the_misuse_of_a_key_fills_no_table(site: Site, story: Story) -> None:
    thief = copied(story.host)
    assert (await story.host.rotate_key()).status_code == 200
    for _ in range(30):
        assert (await thief.call("POST", "/inventory", inventory(slot(0)))).status_code == 401
    async with site.platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT count(*) AS n FROM node_key_misuses")
        row = await cursor.fetchone()
    assert row == {"n": 1}
    assert len(await denied(site, "agent_inventory")) == 1
