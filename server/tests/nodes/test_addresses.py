"""An address belongs to one node, and a host is believed only those that are its own."""

import asyncio

import pytest

from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.printable import printable_text
from gpuaas_server.kernel.ssh_targets import normal_target_address, read_endpoint
from tests_support.agents import Host, Json, Site, ssh_line
from tests_support.allocation_story import Story
from tests_support.select import select


def said(host: Host, **more: object) -> Json:
    facts = {"agent_version": "0.1.0", "boot_id": "b-1", "address": host.address, "ssh_host_public_key": ssh_line()}
    return facts | more


async def shown(site: Site, host: Host) -> tuple[str, list[str] | None]:
    node = await site.admin.get(f"/nodes/{host.node_id}")
    return node["address"], node["slice_addresses"]


async def differing(site: Site) -> list[Json]:
    items = (await site.admin.get("/events?limit=200"))["items"]
    return [event["data"] for event in items if event["type"] == "node.claim_differs"]


async def certify(host: Host, address: str, allocation: str | None = None) -> int:
    body = {"allocation_id": allocation, "public_key": ssh_line(), "address": address}
    return (await host.call("POST", "/host-certificates", body)).status_code


async def test_two_hosts_that_enrol_at_once_with_one_address_become_one_node(site: Site) -> None:
    token = await site.token(max_uses=4)
    hosts = [Host(site.client, hostname=f"h{i}", address="10.0.7.7") for i in range(4)]
    answers = await asyncio.gather(*(host.enrol(token) for host in hosts))
    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409]
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} == {"address_taken"}


async def test_an_idle_host_may_move_but_not_to_the_address_of_another(site: Site) -> None:
    host, other = await site.host(), await site.host("host-2")
    moved = said(host, address="10.0.9.1", slice_addresses=["10.0.9.3", "10.0.9.2"])
    assert (await host.call("POST", "/heartbeat", moved)).status_code == 200
    assert await shown(site, host) == ("10.0.9.1", ["10.0.9.2", "10.0.9.3"])
    for stolen in ({"address": "10.0.9.1"}, {"slice_addresses": ["10.0.9.2"]}):
        assert (await other.call("POST", "/heartbeat", said(other, **stolen))).status_code == 200
        assert await shown(site, other) == ("10.0.0.2", None)
    assert len(await differing(site)) == 2


async def test_a_host_with_a_tenant_on_it_cannot_say_another_address(site: Site) -> None:
    story = await Story.begin(site)
    await story.create()
    moved = said(story.host, address="10.0.9.1", slice_addresses=["10.0.9.2"])
    assert (await story.host.call("POST", "/heartbeat", moved)).status_code == 200
    assert await shown(site, story.host) == ("10.0.0.1", None)
    [told] = await differing(site)
    assert (told["recorded"], told["claimed"], told["why"]) == ("10.0.0.1", "10.0.9.1", "a tenant is on the host")
    await site.admin.call("PATCH", f"/nodes/{story.host.node_id}", {"address": "10.0.9.1"})
    assert await shown(site, story.host) == ("10.0.9.1", None)


async def test_an_administrator_gives_no_address_twice_and_retiring_frees_it(site: Site) -> None:
    host, other = await site.host(), await site.host("host-2")
    answer = await site.admin.call("PATCH", f"/nodes/{other.node_id}", {"address": "10.0.0.1"})
    assert (answer.status_code, answer.json()["code"]) == (409, "address_taken")
    await site.admin.post(f"/nodes/{host.node_id}/retire", {"reason": "scrapped"})
    assert (await site.admin.call("PATCH", f"/nodes/{other.node_id}", {"address": "10.0.0.1"})).status_code == 200


async def test_a_host_certificate_is_for_an_address_of_the_node_alone(site: Site) -> None:
    host, other = await site.host(), await site.host("host-2")
    assert (await other.call("POST", "/heartbeat", said(other, slice_addresses=["10.0.5.1"]))).status_code == 200
    assert (await certify(host, "10.0.0.1"), await certify(other, "10.0.5.1")) == (200, 200)
    for foreign in ("10.0.0.2", "10.0.5.1"):
        assert await certify(host, foreign) == 403
    assert await certify(other, "10.0.5.9") == 403  # its agent has said which ones it has


async def test_an_older_agent_gets_certificates_for_addresses_that_nobody_has(site: Site) -> None:
    """It has never said which addresses its slices have; the first one to ask keeps it."""
    host, other = await site.host(), await site.host("host-2")
    assert [await certify(one, "10.0.5.1") for one in (host, other, host)] == [200, 403, 200]


async def test_what_a_host_reports_instead_of_its_address_is_never_stored(site: Site) -> None:
    story = await Story.begin(site)
    made = await site.admin.post(f"/projects/{story.project}/allocations", {"sku": "whole"})
    story.allocation = made["items"][0]["id"]
    await story.work()
    [task] = await story.host.poll()
    hostile = {"ssh": {"address": "-oProxyCommand=touch /tmp/owned", "port": 22, "user": "gpu"}}
    assert (await story.host.report(task, result=hostile)).status_code == 200
    await story.work()
    found = await story.show()
    assert (found["state"], found["failure"]["code"], found["ssh"]) == ("failed", "ssh_target_refused", None)
    async with site.platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT ssh_address FROM allocations")
        assert [row["ssh_address"] for row in await cursor.fetchall()] == [None]


async def test_what_an_older_release_stored_is_not_given_to_anybody(site: Site) -> None:
    story = await Story.begin(site)
    await story.create()
    async with site.platform.database.connection(PLATFORM) as connection:
        await connection.execute(
            "UPDATE allocations SET ssh_address = %s", ("10.0.0.1\n@cert-authority * ssh-ed25519 A",)
        )
    assert (await story.show())["ssh"] is None
    answer = await site.admin.call("POST", f"{story.path}/ssh-certificates", {"public_key": ssh_line()})
    assert answer.status_code == 409


async def test_escape_sequences_of_a_host_are_replaced_before_they_are_stored(site: Site) -> None:
    story = await Story.begin(site)
    made = await site.admin.post(f"/projects/{story.project}/allocations", {"sku": "whole"})
    story.allocation = made["items"][0]["id"]
    await story.work()
    [task] = await story.host.poll()
    failure = {"code": "broken", "message": "\x1b]0;owned\x07\u202e", "next_step": "\x9b2J", "retryable": False}
    await story.host.report(task, status="failed", failure=failure, evidence={"\x1bkey": ["\x1b[31m"]})
    shown_task = await site.admin.get(f"/tasks/{task['task_id']}")
    assert shown_task["failure"]["message"] == "\ufffd]0;owned\ufffd\ufffd"
    assert shown_task["evidence"] == {"\ufffdkey": ["\ufffd[31m"]}


@pytest.mark.parametrize(
    ("given", "normal"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("2001:DB8::0001", "2001:db8::1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("GPU-1.example", "gpu-1.example"),
        ("-oProxyCommand=x", None),
        ("a b", None),
        ("a\nb", None),
        ("fe80::1%eth0", None),
        ("", None),
        ("a..b", None),
        (None, None),
        (7, None),
    ],
)
def test_an_address_has_one_spelling_or_is_none(given: object, normal: str | None) -> None:
    assert normal_target_address(given) == normal


@pytest.mark.parametrize("user", ["-oX", "root;id", "gpu\n", "", "Gpu", "a" * 33])
def test_a_user_is_a_name_of_an_account(user: str) -> None:
    assert read_endpoint("10.0.0.1", 22, user) is None


def test_printable_text_keeps_lines_and_letters() -> None:
    assert printable_text("Grüße\n\tok ✓ 🚀") == "Grüße\n\tok ✓ 🚀"
    assert printable_text("\x00\ud800\x7f\x85") == "\ufffd" * 4
