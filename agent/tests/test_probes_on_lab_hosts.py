"""Probes on real little hosts: a tenant's app on bare metal and in a slice is seen to answer, to break and to heal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_machine import LabMachine, Tenant, lab_machine, unclean
from little_platform import JsonObject, LittlePlatform

pytestmark = pytest.mark.lab

START = (
    "sudo systemd-run -q --unit=app --property=WorkingDirectory=/etc --property=Restart=no"
    " python3 -m http.server --bind {address} 8081"
)
STOP = "sudo systemctl stop app; sudo systemctl reset-failed app 2>/dev/null; true"


@pytest.fixture(scope="module")
def machine() -> Iterator[LabMachine]:
    with lab_machine() as opened:
        yield opened


@pytest.fixture(scope="module")
def platform(machine: LabMachine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LittlePlatform]:
    folder = tmp_path_factory.mktemp("platform")
    with LittlePlatform(folder, machine.platform_address, tls=True) as serving:
        machine.start_agent(serving)
        yield serving


def probes(**changes: object) -> list[JsonObject]:
    same: JsonObject = {"purpose": ["readiness", "liveness"], "interval_seconds": 1, "failures": 2, **changes}
    return [
        {"key": "page", "kind": "http", "port": 8081, "path": "/hostname", **same},
        {"key": "process", "kind": "unit", "unit": "app.service", **same},
    ]


def watch(tenant: Tenant, member_id: str, generation: int, listed: list[JsonObject]) -> JsonObject:
    spec: JsonObject = {
        "member_id": member_id,
        "allocation_id": tenant.allocation_id,
        "shape": tenant.shape,
        "probes": listed,
    }
    task = tenant.platform.submit("probe", spec, resource_id=member_id, generation=generation)
    return tenant.platform.wait_result(task)


@pytest.mark.parametrize("shape", ["baremetal", "gpu_slice"])
@pytest.mark.parametrize("listens_on", ["0.0.0.0", "127.0.0.1"])
def test_an_app_is_seen_to_start_to_break_and_to_heal(
    platform: LittlePlatform, machine: LabMachine, tmp_path: Path, shape: str, listens_on: str
) -> None:
    tenant = Tenant(platform, machine, tmp_path, shape=shape)
    tenant.task("provision")
    member_id = f"mem_{tenant.allocation_id[4:]}"
    assert watch(tenant, member_id, 1, probes(start_period_seconds=600))["status"] == "succeeded"
    assert platform.wait_probe(member_id, "page", "pending")["answer"] == "connection refused"
    start = START.format(address=listens_on)
    assert tenant.ssh(start).returncode == 0
    assert platform.wait_probe(member_id, "page", "passing")["answer"] == "HTTP 200"
    platform.wait_probe(member_id, "process", "passing")
    seen = len(platform.probe_reports)
    assert tenant.ssh(STOP).returncode == 0
    assert platform.wait_probe(member_id, "page", "failing", after=seen)["answer"] == "connection refused"
    assert platform.wait_probe(member_id, "process", "failing", after=seen)["answer"] == "app.service is not active"
    seen = len(platform.probe_reports)
    assert tenant.ssh(start).returncode == 0
    platform.wait_probe(member_id, "page", "passing", after=seen)
    platform.wait_probe(member_id, "process", "passing", after=seen)
    seen = len(platform.probe_reports)
    machine.host.kill_agent()  # systemd starts it again, and it goes on with what the platform signed
    assert tenant.ssh(STOP).returncode == 0
    platform.wait_probe(member_id, "page", "pending", "failing", after=seen)
    watch(tenant, member_id, 2, [])
    assert unclean(tenant.release()) == {}


def test_probes_of_an_allocation_that_is_not_here_are_refused(
    platform: LittlePlatform, machine: LabMachine, tmp_path: Path
) -> None:
    stranger = Tenant(platform, machine, tmp_path)
    result = watch(stranger, "mem_stranger", 1, probes())
    assert (result["status"], result["failure"]["code"]) == ("failed", "allocation_not_here")  # type: ignore[index]


def test_a_release_ends_the_probes(platform: LittlePlatform, machine: LabMachine, tmp_path: Path) -> None:
    tenant = Tenant(platform, machine, tmp_path, shape="gpu_slice")
    tenant.task("provision")
    member_id = f"mem_{tenant.allocation_id[4:]}"
    watch(tenant, member_id, 1, probes())
    platform.wait_probe(member_id, "page", "pending")
    ended = platform.wait_result(tenant.submit("deprovision"))
    phases = {phase["name"]: phase["detail"] for phase in ended["phases"]}  # type: ignore[attr-defined]
    assert phases["end_probes"] == "1 members"
    tenant.task("wipe")
    assert unclean(tenant.task("verify_wipe")) == {}
