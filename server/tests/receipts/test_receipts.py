"""Receipts from the controller's "done" to what people read years later, on real PostgreSQL and over the agent's protocol."""

from datetime import timedelta

import psycopg
import pytest

from gpuaas_server.kernel.settings import Settings
from gpuaas_server.receipts.machine import ATTEMPTS, INSPECTION
from tests_support.agents import MovableClock
from tests_support.grounds import BASELINE, EchoLab, left


async def test_a_clean_host_settles_its_receipt_as_clean(ground: EchoLab) -> None:
    operation, receipt = await ground.start()
    assert (await ground.settle(operation)).waiting
    task = await ground.look()
    assert task["resource_id"] == receipt
    assert task["spec"]["footprint"]["ports"] == ["7777/tcp"]
    assert task["spec"]["allocation_id"] == ground.allocation
    await ground.answer(task)
    verdict = await ground.settle(operation)
    assert (verdict.waiting, verdict.left, verdict.failed) == (False, [], [])
    shown = await ground.show(receipt)
    assert (shown["status"], shown["verified"], shown["failure"], shown["left"]) == ("clean", True, None, 0)
    assert [check["verdict"] for check in shown["checks"]] == ["absent"] * 10
    assert shown["baseline_sha256"] == BASELINE


async def test_the_operation_is_woken_when_the_host_has_answered(ground: EchoLab, settings: Settings) -> None:
    operation, _ = await ground.start()
    await ground.answer(await ground.look())
    assert settings.database_url is not None
    with psycopg.connect(settings.database_url.get_secret_value()) as connection:
        woken = connection.execute("SELECT kind FROM work_items WHERE subject = %s", (operation,)).fetchall()
    assert woken == [("operation",)]


async def test_a_controller_that_left_something_learns_what_is_left(ground: EchoLab) -> None:
    operation, receipt = await ground.start("stopped")
    await ground.answer(await ground.look(), units=left("echo.service is loaded"), ports=left("tcp 0.0.0.0:7777"))
    verdict = await ground.settle(operation)
    assert [str(one) for one in verdict.left] == [
        f"units: echo.service is loaded (on {ground.allocation})",
        f"ports: tcp 0.0.0.0:7777 (on {ground.allocation})",
    ]
    again = await ground.settle(operation)
    assert again.left == verdict.left  # settling is safe to repeat
    shown = await ground.show(receipt)
    assert (shown["status"], shown["verified"], shown["left"]) == ("left", False, 2)
    assert shown["failure"]["code"] == "teardown_incomplete"
    events = await ground.site.admin.get(f"/projects/{ground.project}/events?subject={receipt}")
    assert [(event["type"], event["data"]["left"]) for event in events["items"]] == [("receipt.left", 2)]


async def test_nothing_is_said_before_all_hosts_have_answered(ground: EchoLab) -> None:
    operation, _ = await ground.start_two()
    first, second = [task for task in await ground.host.poll() if task["kind"] == "inspect"]
    await ground.answer(first, units=left("echo.service is loaded"))
    waits = await ground.settle(operation)
    assert (waits.waiting, waits.left) == (True, [])
    await ground.answer(second, paths=left("/opt/echo"))
    verdict = await ground.settle(operation)
    assert [(verdict.waiting, one.check) for one in verdict.left] == [(False, "units"), (False, "paths")]


async def test_a_stopped_app_is_asked_for_less_than_one_that_is_gone(ground: EchoLab) -> None:
    operation, receipt = await ground.start("stopped")
    await ground.answer(await ground.look())
    assert not (await ground.settle(operation)).waiting
    assert len((await ground.show(receipt))["checks"]) == 6


async def test_a_host_that_stays_silent_ends_as_unreachable_and_a_late_answer_changes_nothing(
    ground: EchoLab, clock: MovableClock
) -> None:
    operation, receipt = await ground.start()
    task = await ground.look()
    clock.ahead = INSPECTION + timedelta(seconds=1)
    verdict = await ground.settle(operation)
    assert [one.code for one in verdict.failed] == ["host_unreachable"]
    clock.ahead = timedelta()
    await ground.answer(task)
    await ground.settle(operation)
    assert (await ground.show(receipt))["failure"]["code"] == "host_unreachable"


async def test_an_agent_that_is_too_old_has_a_code_and_a_way_out(ground: EchoLab) -> None:
    operation, receipt = await ground.start()
    failure = {"code": "task_kind_unknown", "message": "?", "next_step": "", "retryable": False}
    await ground.host.report(await ground.look(), "failed", failure=failure)
    assert [one.code for one in (await ground.settle(operation)).failed] == ["agent_too_old"]
    assert "Update the agent" in (await ground.show(receipt))["failure"]["next_step"]


async def test_a_look_that_failed_for_a_moment_is_asked_for_again(ground: EchoLab) -> None:
    operation, _ = await ground.start()
    failure = {"code": "host_io_error", "message": "EIO", "next_step": "", "retryable": True}
    for attempt in range(1, ATTEMPTS):
        task = await ground.look()
        assert task["generation"] == attempt
        await ground.host.report(task, "failed", failure=failure)
        assert (await ground.settle(operation)).waiting
    await ground.answer(await ground.look())
    verdict = await ground.settle(operation)
    assert (verdict.waiting, verdict.left, verdict.failed) == (False, [], [])


async def test_evidence_from_another_baseline_or_for_another_receipt_proves_nothing(ground: EchoLab) -> None:
    operation, _ = await ground.start()
    await ground.answer(await ground.look(), evidence={"baseline_sha256": "c" * 64})
    assert [one.code for one in (await ground.settle(operation)).failed] == ["baseline_mismatch"]
    operation, _ = await ground.start()
    task = await ground.look()
    task["spec"]["receipt_id"] = "rcp_" + "0" * 26
    await ground.answer(task)
    assert [one.code for one in (await ground.settle(operation)).failed] == ["evidence_mismatch"]


async def test_a_hostile_footprint_reaches_no_host_and_settles_at_once(ground: EchoLab) -> None:
    operation, receipt = await ground.start(footprint={"paths": ["/opt/../etc/shadow"]})
    assert [task["kind"] for task in await ground.host.poll()] == []
    verdict = await ground.settle(operation)
    assert [one.code for one in verdict.failed] == ["footprint_invalid"]
    assert (await ground.show(receipt))["status"] == "unseen"


@pytest.mark.parametrize("answered", [True, False])
async def test_force_keeps_what_was_seen_and_is_not_verified_for_ever(ground: EchoLab, answered: bool) -> None:
    operation, receipt = await ground.start()
    task = await ground.look()
    if answered:
        await ground.answer(task, units=left("echo.service is loaded"))
        await ground.settle(operation)
    await ground.force(operation)
    await ground.force(operation, "again, with another reason")
    if not answered:
        await ground.answer(task)  # a late proof does not make a forced one verified
    verdict = await ground.settle(operation)
    assert (verdict.waiting, verdict.left, verdict.failed) == (False, [], [])
    shown = await ground.show(receipt)
    assert (shown["status"], shown["verified"], shown["left"]) == ("not_verified", False, int(answered))
    assert shown["forced"]["reason"] == "the host burnt down"


async def test_a_host_that_was_never_asked_has_a_receipt_that_says_so(ground: EchoLab) -> None:
    operation = await ground.force_unasked()
    assert await ground.host.poll() == []
    [line] = (await ground.site.admin.get(f"/projects/{ground.project}/receipts?operation_id={operation}"))["items"]
    shown = await ground.show(line["id"])
    assert (shown["status"], shown["verified"], shown["checks"]) == ("not_verified", False, [])
    assert shown["forced"]["reason"] == "its controller is gone"
    assert (await ground.settle(operation)).left == []


async def test_a_clean_receipt_cannot_be_forced(ground: EchoLab) -> None:
    operation, receipt = await ground.start()
    await ground.answer(await ground.look())
    await ground.settle(operation)
    await ground.force(operation)
    assert (await ground.show(receipt))["status"] == "clean"


async def test_the_database_refuses_to_change_or_remove_a_settled_receipt(ground: EchoLab, settings: Settings) -> None:
    for found in ({}, {"units": left("echo.service is loaded")}):
        operation, _ = await ground.start()
        await ground.answer(await ground.look(), **found)
        await ground.settle(operation)
    await ground.force(operation)
    operation, _ = await ground.start()  # one that is pending
    assert settings.database_url is not None
    url = settings.database_url.get_secret_value()
    forged = "forced = '{\"by\": \"x\"}', status = 'not_verified'"
    for statement in (
        "UPDATE teardown_receipts SET checks = '[]' WHERE status <> 'pending'",
        "UPDATE teardown_receipts SET status = 'clean', forced = NULL WHERE status = 'not_verified'",
        f"UPDATE teardown_receipts SET {forged}, checks = '[]' WHERE status = 'clean'",
        "DELETE FROM teardown_receipts",
        "TRUNCATE teardown_receipts",
    ):
        with psycopg.connect(url) as connection:
            connection.execute("SELECT set_config('gpuaas.platform', 'on', false)")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


async def test_a_revoked_certificate_must_be_on_the_hosts_list_by_the_deadline(
    ground: EchoLab, clock: MovableClock
) -> None:
    person = ground.site.admin
    path = f"/projects/{ground.project}/allocations/{ground.allocation}"
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHn6YhVZ0cGTKrFqk9o5o1HqYV3nQ1xWJYx0b9l1c3Zk"
    issued = await person.post(f"{path}/ssh-certificates", {"public_key": key})
    await person.post(f"{path}/ssh-certificates/revoke", {"reason": "the story asks", "serial": issued["serial"]})
    operation, _ = await ground.start("stopped")
    task = await ground.look()
    assert task["spec"]["revoked_serials"] == [issued["serial"]]
    opens = left(f"certificate {issued['serial']} still opens")
    await ground.answer(task, credentials=opens)
    assert (await ground.settle(operation)).waiting  # the list may be on its way: the host is asked again
    await ground.answer(await ground.look(), credentials=opens)
    clock.ahead = INSPECTION + timedelta(seconds=1)
    assert [one.check for one in (await ground.settle(operation)).left] == ["credentials"]


async def test_receipts_are_listed_newest_first_and_by_what_they_are_about(ground: EchoLab) -> None:
    made = [await ground.start() for _ in range(3)]
    path = f"/projects/{ground.project}/receipts"
    page = await ground.site.admin.get(f"{path}?limit=2")
    assert [item["id"] for item in page["items"]] == [made[2][1], made[1][1]]
    rest = await ground.site.admin.get(f"{path}?after={page['next_cursor']}")
    assert [item["id"] for item in rest["items"]] == [made[0][1]]
    one = await ground.site.admin.get(f"{path}?operation_id={made[1][0]}&allocation_id={ground.allocation}")
    assert [item["id"] for item in one["items"]] == [made[1][1]]
    assert (await ground.site.admin.get(f"{path}?status=clean"))["items"] == []
    other = made[0][1][:-1] + ("1" if made[0][1].endswith("0") else "0")
    assert (await ground.site.admin.call("GET", f"{path}/{other}")).status_code == 404


async def test_another_projects_receipt_is_not_found(ground: EchoLab) -> None:
    _, receipt = await ground.start()
    tenant = await ground.site.admin.post("/tenants", {"slug": "other", "name": "Other"})
    project = await ground.site.admin.post(f"/tenants/{tenant['id']}/projects", {"slug": "other", "name": "Other"})
    answer = await ground.site.admin.call("GET", f"/projects/{project['id']}/receipts/{receipt}")
    assert answer.status_code == 404
