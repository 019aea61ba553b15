"""What a release has to prove, from the SKU and the tenant to the host's task and back to the allocation."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.allocations.wipe_proof import CHECKS_OF_HOST, RESTART
from gpuaas_server.host_tasks.service import LARGEST_REPORT
from gpuaas_server.kernel.context import Platform
from gpuaas_server.nodes import facts
from gpuaas_server.nodes.facts import document_digest, text_digest
from tests_support import agents
from tests_support.agents import Json, inventory, slot, ssh_line
from tests_support.allocation_story import SSH, Story

CONFIGURATION = '{"address": "10.0.0.1"}\n'
PROGRAM = "a" * 64
CHECKS = sorted(CHECKS_OF_HOST | {RESTART})
HOST_KEY = ssh_line()


@pytest.fixture
async def story(platform: Platform) -> AsyncIterator[Story]:
    """A host with an agent that reports what it is, before any tenant comes."""
    async with agents.opened(platform) as site:
        story = await Story.begin(site)
        await beat(story, "boot-1")
        yield story


async def beat(story: Story, boot_id: str, configuration: str | None = CONFIGURATION, program: str = PROGRAM) -> None:
    body = {"agent_version": "2", "boot_id": boot_id, "address": "10.0.0.1", "ssh_host_public_key": HOST_KEY}
    body |= {"configuration": configuration, "agent_sha256": program}
    assert (await story.host.call("POST", "/heartbeat", body)).status_code == 200


async def beat_as_older_agent(story: Story) -> None:
    body = {"agent_version": "1", "boot_id": "boot-1", "address": "10.0.0.1", "ssh_host_public_key": HOST_KEY}
    assert (await story.host.call("POST", "/heartbeat", body)).status_code == 200
    assert (await node(story))["wipe_grades"] == ["inspected"]


def answer(task: Json, boot_id: str, statuses: dict[str, str] | None = None) -> Json:
    """As an honest agent answers a verification."""
    told = [(name, (statuses or {}).get(name, "clean")) for name in CHECKS]
    checks = [{"name": n, "status": s, "clean": s == "clean", "found": [], "examined": 1} for n, s in told]
    clean = all(status != "found" for _, status in told)
    result = {"clean": clean, "grade": task["spec"]["grade"], "checks": checks}
    evidence = {"baseline_sha256": "a", "boot_id": boot_id, **task["spec"]["expected"]}
    return {"result": result, "evidence": evidence}


async def settle(story: Story, boot_id: str, statuses: dict[str, str] | None = None) -> dict[str, Json]:
    """Until nobody has anything to do; the specs of the tasks that the host got, by their kind."""
    seen: dict[str, Json] = {}
    for _ in range(12):
        await story.work()
        for task in await story.host.poll():
            seen[task["kind"]] = task["spec"]
            told: Json = {"result": SSH if task["kind"] == "provision" else {}, "evidence": {"baseline_sha256": "a"}}
            if task["kind"] == "verify_wipe":
                told = answer(task, boot_id, statuses)
            assert (await story.host.report(task, **told)).status_code == 200
    return seen


async def lease(story: Story) -> None:
    made = await story.site.admin.post(f"/projects/{story.project}/allocations", {"sku": "whole"})
    story.allocation = made["items"][0]["id"]
    await settle(story, "boot-1")
    assert (await story.show())["state"] == "active"


async def change_sku(story: Story, **changes: object) -> None:
    (sku,) = (await story.site.admin.get("/skus"))["items"]
    answered = await story.site.admin.call("PATCH", f"/skus/{sku['id']}", changes)
    assert answered.status_code == 200, answered.text


async def change_tenant(story: Story, **changes: object) -> None:
    answered = await story.site.admin.call("PATCH", f"/tenants/{story.tenant}", changes)
    assert answered.status_code == 200, answered.text


async def change_node(story: Story, **changes: object) -> Json:
    answered = await story.site.admin.call("PATCH", f"/nodes/{story.host.node_id}", changes)
    assert answered.status_code == 200, answered.text
    return dict(answered.json())


async def node(story: Story) -> Json:
    return await story.site.admin.get(f"/nodes/{story.host.node_id}")


async def test_the_host_receives_what_to_restore_and_what_is_expected(story: Story) -> None:
    await change_sku(story, wipe_grade="rebooted", accept_not_examined=["drives"])
    await change_node(story, erase_drives=False)
    await lease(story)
    await story.ask("release")
    specs = await settle(story, "boot-2")
    for kind in ("wipe", "verify_wipe"):
        spec = specs[kind]
        assert (spec["grade"], spec["erase_drives"]) == ("rebooted", False)
        assert spec["restore"]["configuration"] == CONFIGURATION
        identity = spec["restore"]["identity"]
        assert identity["node_id"] == story.host.node_id
        assert identity["urls"] == story.site.platform.settings.agent_urls
        assert all(identity[name] for name in ("task_keys", "user_ca_keys", "host_ca_keys", "poll_wait_seconds"))
        assert spec["expected"] == {
            "configuration_sha256": text_digest(CONFIGURATION),
            "trust_sha256": document_digest(identity),
            "agent_sha256": PROGRAM,
        }
    assert "restore" not in specs["deprovision"]


async def test_a_restart_that_the_platform_saw_reaches_the_grade_and_is_shown(story: Story) -> None:
    await change_sku(story, wipe_grade="rebooted", accept_not_examined=["drives"])
    await lease(story)
    assert (await story.show())["wipe_grade_required"] is None
    await story.ask("release")
    await settle(story, "boot-2", {"drives": "not_examined"})
    shown = await story.show()
    assert (shown["state"], shown["wipe_verified"]) == ("released", True), shown["failure"]
    assert (shown["wipe_grade_required"], shown["wipe_grade"]) == ("rebooted", "rebooted")
    assert shown["wipe_not_examined"] == ["drives"]
    evidence = (await story.site.admin.get(f"{story.path}/timeline"))["wipe_evidence"]
    verdict = evidence["verdict"]
    covered = verdict.pop("not_covered")
    assert verdict == {"grade": "rebooted", "required": "rebooted", "not_examined": ["drives"]}
    assert {"GPU memory and GPU firmware", "boot sectors and boot variables"} <= set(covered)
    assert evidence["evidence"]["boot_id"] == "boot-2"


@pytest.mark.parametrize(
    ("boot_id", "statuses", "code"),
    [
        ("boot-1", {}, "wipe_grade_not_reached"),
        ("boot-2", {"restart": "not_examined"}, "wipe_grade_not_reached"),
        ("boot-2", {"drives": "not_examined"}, "wipe_not_examined"),
        ("boot-2", {"agent_state": "found"}, "wipe_not_proven"),
    ],
)
async def test_less_than_is_required_blocks_the_slots_and_a_retry_with_less_asked_frees_them(
    story: Story, boot_id: str, statuses: dict[str, str], code: str
) -> None:
    await change_sku(story, wipe_grade="rebooted")
    await lease(story)
    await story.ask("release")
    await settle(story, boot_id, statuses)
    shown = await story.show()
    assert (shown["state"], shown["failure"]["code"], shown["wipe_verified"]) == ("release_failed", code, False)
    assert shown["wipe_grade"] is None
    assert await story.slots() == [("cleanup_blocked", code)] * 2
    assert {"allocation_retry_release", "allocation_force_cleanup"} <= set(shown["allowed_actions"])
    await change_sku(story, wipe_grade="inspected", accept_not_examined=["drives"])
    await story.ask("retry-release")
    await settle(story, "boot-1", {"drives": "not_examined", "restart": "not_examined"})
    shown = await story.show()
    assert (shown["state"], shown["wipe_grade"]) == ("released", "inspected"), shown["failure"]


async def test_a_restart_during_the_lease_is_not_the_restart_of_the_wipe(story: Story) -> None:
    """The tenant restarts the host, reports another boot id for the release to begin with, and has the wipe skip its own."""
    await change_sku(story, wipe_grade="rebooted")
    await lease(story)
    for boot_id in ("boot-2", "boot-3"):
        await beat(story, boot_id)
    await story.ask("release")
    await settle(story, "boot-2")
    shown = await story.show()
    assert (shown["state"], shown["failure"]["code"]) == ("release_failed", "wipe_grade_not_reached")
    await beat(story, "boot-4")  # also a restart between the two attempts is not the wipe's
    await story.ask("retry-release")
    await settle(story, "boot-4")
    assert (await story.show())["failure"]["code"] == "wipe_grade_not_reached"
    await story.ask("retry-release")
    await settle(story, "boot-5")
    assert (await story.show())["state"] == "released"


async def test_a_host_with_too_many_boots_to_know_proves_no_restart(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "MOST_BOOTS", 3)
    await change_sku(story, wipe_grade="rebooted")
    await lease(story)
    for number in range(2, 6):
        await beat(story, f"boot-{number}")
    await story.ask("release")
    await settle(story, "boot-9")
    assert (await story.show())["failure"]["code"] == "wipe_grade_not_reached"


async def test_every_wipe_has_an_id_that_nobody_could_know_before(story: Story) -> None:
    await lease(story)
    ids = []
    for _ in range(2):
        await story.ask("release" if not ids else "retry-release")
        specs = await settle(story, "boot-1", {"files": "found"})
        assert "wipe_id" not in specs["deprovision"]
        assert specs["wipe"]["wipe_id"] == specs["verify_wipe"]["wipe_id"]
        ids.append(specs["wipe"]["wipe_id"])
    assert len(set(ids)) == 2
    assert ids[0] not in (await story.site.admin.call("GET", story.path)).text


async def test_a_tenant_may_require_more_than_the_sku(story: Story) -> None:
    await change_tenant(story, wipe_grade="rebooted")
    await lease(story)
    await story.ask("release")
    specs = await settle(story, "boot-1")
    assert specs["wipe"]["grade"] == "rebooted"
    assert (await story.show())["failure"]["code"] == "wipe_grade_not_reached"


async def test_an_agent_of_an_older_release_is_recognised(story: Story) -> None:
    await beat_as_older_agent(story)
    await lease(story)
    await change_sku(story, wipe_grade="rebooted")
    await story.ask("release")
    assert await story.settle(clean=True) == "release_failed"
    assert (await story.show())["failure"]["code"] == "wipe_agent_too_old"


@pytest.mark.parametrize("by", ["SKU whole", "tenant"])
async def test_a_host_that_cannot_prove_the_required_grade_is_not_offered_until_its_agent_is_newer(
    story: Story, by: str
) -> None:
    """Its release would always end blocked."""
    await (change_tenant if by == "tenant" else change_sku)(story, wipe_grade="rebooted")
    await beat_as_older_agent(story)
    answered = await story.site.admin.call("POST", f"/projects/{story.project}/allocations", {"sku": "whole"})
    problem = answered.json()
    assert (answered.status_code, problem["code"]) == (409, "capacity_below_grade"), problem
    assert problem["details"]["wipe_grade"] == "rebooted"
    assert f"the {by} requires" in problem["detail"]
    await beat(story, "boot-1")
    await lease(story)
    await story.ask("release")
    await settle(story, "boot-2")
    assert (await story.show())["wipe_grade"] == "rebooted"


async def test_a_node_that_keeps_its_drives_is_offered_only_where_the_sku_accepts_it(story: Story) -> None:
    """Its release would always end blocked."""

    async def request() -> tuple[int, Json]:
        answered = await story.site.admin.call("POST", f"/projects/{story.project}/allocations", {"sku": "whole"})
        return answered.status_code, answered.json()

    await change_node(story, erase_drives=False)
    status, problem = await request()
    assert (status, problem["code"]) == (409, "capacity_drives_not_erased"), problem
    assert "SKU whole requires erased drives" in problem["detail"]
    assert "platform administrator" in problem["next_step"]
    await change_sku(story, accept_not_examined=["drives"])
    status, made = await request()
    assert status in (200, 201, 202), made
    story.allocation = made["items"][0]["id"]
    await settle(story, "boot-1")
    await story.ask("release")
    await settle(story, "boot-1", {"drives": "not_examined"})
    assert (await story.show())["state"] == "released"
    await change_sku(story, accept_not_examined=[])
    assert (await request())[0] == 409
    await change_node(story, erase_drives=True)
    assert (await request())[0] != 409


async def test_what_an_agent_reports_at_enrolment_counts_immediately(story: Story) -> None:
    await change_sku(story, wipe_grade="rebooted")
    await story.site.admin.call("POST", f"/nodes/{story.host.node_id}/cordon", {"reason": "not this one"})
    newer = await story.site.host(agent_sha256=PROGRAM)
    await newer.call("POST", "/inventory", inventory(slot(0), slot(1)))
    await story.site.admin.post(f"/nodes/{newer.node_id}/slots/approve", {})
    made = await story.site.admin.post(f"/projects/{story.project}/allocations", {"sku": "whole"})
    assert made["items"][0]["node_id"] == newer.node_id


async def test_a_grade_that_cannot_be_proven_cannot_be_requested(story: Story) -> None:
    (sku,) = (await story.site.admin.get("/skus"))["items"]
    part = {"name": "part", "shape": "gpu_slice", "gpu_model": sku["gpu_model"], "gpu_counts": [1]}
    tried = [
        ("PATCH", f"/skus/{sku['id']}", {"wipe_grade": "reimaged"}),
        ("PATCH", f"/tenants/{story.tenant}", {"wipe_grade": "reimaged"}),
        ("POST", "/skus", part | {"price_per_gpu_hour_minor": 1, "wipe_grade": "rebooted"}),
    ]
    for method, path, body in tried:
        answered = await story.site.admin.call(method, path, body)
        assert (answered.status_code, answered.json()["code"]) == (422, "wipe_grade_not_available"), path


async def test_the_wipe_of_a_whole_host_restarts_it_unless_the_sku_says_otherwise(story: Story) -> None:
    (sku,) = (await story.site.admin.get("/skus"))["items"]
    made = {"gpu_model": sku["gpu_model"], "gpu_counts": [1], "price_per_gpu_hour_minor": 1}
    for name, shape, grade in (("default", "baremetal", "rebooted"), ("part", "gpu_slice", "inspected")):
        assert (await story.site.admin.post("/skus", {"name": name, "shape": shape, **made}))["wipe_grade"] == grade


async def test_what_a_tenant_could_have_written_is_told_once_and_not_recorded(story: Story) -> None:
    await lease(story)
    for _ in range(2):
        await beat(story, "boot-1", '{"erase_drives": false}')
    shown = await node(story)
    assert shown["claim_differs"] is True
    assert shown["configuration_sha256"] == text_digest(CONFIGURATION)
    told = await story.site.admin.get("/audit?limit=200&action=node_claim_differs")
    assert len(told["items"]) == 1
    await beat(story, "boot-1")
    assert (await node(story))["claim_differs"] is False
    await story.ask("release")
    await settle(story, "boot-1")
    await beat(story, "boot-1", "{}\n", "b" * 64)
    shown = await node(story)
    assert (shown["configuration_sha256"], shown["agent_sha256"]) == (text_digest("{}\n"), "b" * 64)


async def test_a_host_given_back_without_proof_reports_in_vain_until_a_wipe_is_proven(story: Story) -> None:
    await lease(story)
    await story.ask("release")
    await settle(story, "boot-1", {"files": "found"})
    await story.ask("force-cleanup", {"reason": "looked at it", "evidence": "by hand, on the console"})
    await beat(story, "boot-1", '{"erase_drives": false}')
    assert (await node(story))["configuration_sha256"] == text_digest(CONFIGURATION)
    await lease(story)
    await story.ask("release")
    await settle(story, "boot-1")
    assert (await story.show())["wipe_verified"] is True
    await beat(story, "boot-1", "{}\n")
    assert (await node(story))["configuration_sha256"] == text_digest("{}\n")


async def test_whether_drives_are_erased_is_decided_here_with_a_record(story: Story) -> None:
    assert (await node(story))["erase_drives"] is True
    assert (await change_node(story, erase_drives=False))["erase_drives"] is False
    assert (await change_node(story, name="other"))["erase_drives"] is False
    records = (await story.site.admin.get("/audit?limit=200&action=node_update"))["items"]
    assert [record["details"]["after"]["erase_drives"] for record in records] == [False, False]


async def test_a_report_that_is_too_large_fails_the_task_and_is_not_kept(story: Story) -> None:
    await lease(story)
    await story.ask("release")
    await story.work()
    (task,) = await story.host.poll()
    huge = {"result": {"clean": True, "noise": "x" * LARGEST_REPORT}}
    for _ in range(2):
        assert (await story.host.report(task, **huge)).status_code == 200
    shown = await story.site.admin.get(f"/tasks/{task['task_id']}")
    assert (shown["status"], shown["failure"]["code"], shown["result"]) == ("failed", "report_too_large", {})
    await story.work()
    assert (await story.show())["failure"]["code"] == "host_task_failed"
