"""Terminals over HTTP, and what the host is asked: opened, refused, limited, closed, and ended with the allocation."""

from datetime import timedelta
from typing import Any

import pytest

from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.terminals import holder_lease
from gpuaas_server.terminals.machine import End
from gpuaas_server.terminals.reconciler import TerminalReconciler
from tests_support.agents import Json, MovableClock, ssh_line
from tests_support.grounds import EchoLab, work_off
from tests_support.select import select


@pytest.fixture
def settings(settings: Settings) -> Settings:
    return settings.model_copy(update={"terminals_per_allocation": 2})


def path(ground: EchoLab) -> str:
    return f"/projects/{ground.project}/allocations/{ground.allocation}/terminals"


async def opened(ground: EchoLab) -> Json:
    return await ground.site.admin.post(path(ground), {"columns": 120, "rows": 40})


async def asked(ground: EchoLab) -> Json:
    [task] = [task for task in await ground.host.poll() if task["kind"] == "terminal"]
    return task


async def now(ground: EchoLab, terminal: Json) -> Json:
    found = (await ground.site.admin.get(path(ground)))["items"]
    return next(one for one in found if one["id"] == terminal["id"])


async def take(ground: EchoLab, terminal: Json, node_id: str = "") -> holder_lease.ClaimedTerminal:
    node = Actor(node_id or ground.host.node_id, "node", "host-1")
    return await holder_lease.terminal_take(
        ground.site.platform, holder_lease.AnsweringNode(node, 1), terminal["id"], ssh_line(), "127.0.0.1:1/x"
    )


async def audited(ground: EchoLab, action: str) -> list[dict[str, Any]]:
    async with ground.site.platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT * FROM audit_records WHERE action = %s ORDER BY id", (action,))
        return await cursor.fetchall()


async def test_a_terminal_is_a_task_without_a_secret_for_the_host(ground: EchoLab) -> None:
    terminal = await opened(ground)
    assert terminal["status"] == "requested"
    assert terminal["stream"].endswith(f"{terminal['id']}/stream")
    task = await asked(ground)
    assert task["resource_id"] == terminal["id"]
    spec = {"terminal_id": terminal["id"], "allocation_id": ground.allocation, "shape": "baremetal"}
    assert task["spec"] == spec


async def test_it_is_taken_once_and_by_its_own_node(ground: EchoLab) -> None:
    terminal = await opened(ground)
    with pytest.raises(Problem, match="No terminal with this id is expected"):
        await take(ground, terminal, "nod_01jb2c3d4e5f6g7h8j9kamnpqr")
    taken = await take(ground, terminal)
    assert taken.certificate.startswith("ssh-ed25519-cert-v01@openssh.com ")
    with pytest.raises(Problem, match="No terminal with this id is expected"):
        await take(ground, terminal)
    [certificate] = (await ground.site.admin.get(f"{path(ground).removesuffix('terminals')}ssh-certificates"))["items"]
    me = await ground.site.admin.get("/me")
    assert certificate["issued_to"] == me["id"]  # it ends with their other ways in


async def test_what_the_host_says_is_why_it_did_not_open(ground: EchoLab) -> None:
    terminal = await opened(ground)
    failure = {"code": "terminal_not_offered", "message": "A simulated host has no shell", "next_step": "-"}
    await ground.host.report(await asked(ground), "failed", failure=failure | {"retryable": False})
    await work_off(ground.site.platform, TerminalReconciler())
    ended = await now(ground, terminal)
    assert (ended["status"], ended["reason"]) == ("ended", "not_opened")
    assert ended["message"] == "A simulated host has no shell (terminal_not_offered)."


async def test_a_host_that_never_comes_is_given_up(ground: EchoLab, clock: MovableClock) -> None:
    terminal = await opened(ground)
    clock.ahead += timedelta(seconds=60)
    await work_off(ground.site.platform, TerminalReconciler())
    assert (await now(ground, terminal))["reason"] == "not_opened"
    with pytest.raises(Problem, match="No terminal with this id is expected"):
        await take(ground, terminal)


async def test_a_holder_that_died_is_given_up(ground: EchoLab, clock: MovableClock) -> None:
    terminal = await opened(ground)
    taken = await take(ground, terminal)
    assert await holder_lease.terminal_opened(ground.site.platform, taken.row)
    assert (await now(ground, terminal))["status"] == "open"
    clock.ahead += timedelta(seconds=60)
    await work_off(ground.site.platform, TerminalReconciler())
    assert (await now(ground, terminal))["reason"] == "interrupted"
    assert not await holder_lease.terminal_renew(ground.site.platform, taken.row, 0, 0)


async def test_there_is_a_limit_and_closing_makes_room(ground: EchoLab) -> None:
    first, _ = await opened(ground), await opened(ground)
    refused = await ground.site.admin.call("POST", path(ground), {})
    assert (refused.status_code, refused.json()["code"]) == (409, "too_many_terminals")
    closed = await ground.site.admin.post(f"{path(ground)}/{first['id']}/close")
    assert (closed["status"], closed["reason"], closed["allowed_actions"]) == ("ended", "closed", [])
    again = await ground.site.admin.post(f"{path(ground)}/{first['id']}/close")
    assert again["ended_at"] == closed["ended_at"]
    await opened(ground)


async def test_a_release_ends_it_in_the_same_moment_and_nobody_takes_it_any_more(ground: EchoLab) -> None:
    first, second = await opened(ground), await opened(ground)
    taken = await take(ground, first)
    await ground.site.admin.post(f"/projects/{ground.project}/allocations/{ground.allocation}/release", {})
    assert {(await now(ground, one))["reason"] for one in (first, second)} == {"released"}
    assert not await holder_lease.terminal_opened(ground.site.platform, taken.row)
    with pytest.raises(Problem, match="No terminal with this id is expected"):
        await take(ground, second)
    refused = await ground.site.admin.call("POST", path(ground), {})
    assert refused.json()["code"] == "not_active"


async def test_the_first_end_stands_and_is_audited_with_who_and_how_much(ground: EchoLab, platform: Platform) -> None:
    terminal = await opened(ground)
    taken = await take(ground, terminal)
    await holder_lease.terminal_end(platform, taken.row, End("exited", "The shell has ended.", 3), 5, 70)
    await holder_lease.terminal_end(platform, taken.row, End("closed", "The terminal was closed."), 9, 99)
    [entry] = await audited(ground, "terminal_close")
    told = entry["details"]
    assert (told["why"], told["exit_status"], told["bytes_in"], told["bytes_out"]) == ("exited", 3, 5, 70)
    assert told["opened_by"] == terminal["opened_by"]
