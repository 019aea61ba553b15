"""An app is put on a real little host, its controller says that it is gone, and the agent looks for itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_machine import LabMachine, Tenant, lab_machine, unclean
from little_platform import JsonObject, LittlePlatform

pytestmark = pytest.mark.lab

FOOTPRINT: dict[str, object] = {
    "units": ["echo.service", "ssh.service"],
    "processes": ["echo-server"],
    "ports": ["7777/tcp", "22/tcp"],
    "paths": ["/opt/echo", "/run/echo", "/usr/local/share", "/etc/passwd"],
    "users": ["echo", "root"],
    "mounts": ["/mnt/echo"],
    "containers": ["echo-*"],
    "cron": ["echo"],
}
APP = r"""
set -e
sudo useradd --system --home-dir /var/lib/echo --create-home echo
sudo mkdir -p /opt/echo /run/echo /mnt/echo /var/lib/echo/.ssh
sudo cp /bin/sleep /opt/echo/echo-server
sudo tee /opt/echo/serve.py >/dev/null <<'PROGRAM'
import socket, subprocess, time
subprocess.Popen(["sleep", "7777"], start_new_session=True)
server = socket.create_server(("0.0.0.0", 7777))
time.sleep(7777)
PROGRAM
sudo tee /etc/systemd/system/echo.service >/dev/null <<'UNIT'
[Service]
ExecStart=/usr/bin/python3 /opt/echo/serve.py
User=echo
KillMode=process
[Install]
WantedBy=multi-user.target
UNIT
sudo systemctl daemon-reload
sudo systemctl enable --now echo.service 2>/dev/null
setsid /opt/echo/echo-server 8888 >/dev/null 2>&1 </dev/null &
GPUAAS_INSTANCE=ins_1 sh -c 'setsid sleep 9999 >/dev/null 2>&1 </dev/null &'
sudo mount -t tmpfs echo /mnt/echo
echo '* * * * * root true' | sudo tee /etc/cron.d/echo >/dev/null
sudo touch /usr/local/share/echo-data /var/lib/echo/.ssh/authorized_keys
sudo mkdir -p /var/lib/containers/storage/overlay-containers
echo '[{"id":"aa11","names":["echo-1"]}]' | sudo tee /var/lib/containers/storage/overlay-containers/containers.json >/dev/null
for i in $(seq 50); do ss -ltn 2>/dev/null | grep -q :7777 && break; sleep 0.1; done
"""
STOP = r"""
sudo systemctl stop echo.service
for one in 7777 9999; do sudo pkill -fx "sleep $one" || true; done
sudo pkill -x echo-server || true
sudo rm -f /etc/cron.d/echo
"""
REMOVE = r"""
sudo systemctl disable echo.service 2>/dev/null
sudo rm -rf /etc/systemd/system/echo.service /opt/echo /run/echo /usr/local/share/echo-data /var/lib/containers
sudo systemctl daemon-reload
sudo umount /mnt/echo
sudo userdel --remove echo 2>/dev/null
"""


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


@pytest.fixture(params=["baremetal", "gpu_slice"])
def tenant(
    request: pytest.FixtureRequest, platform: LittlePlatform, machine: LabMachine, tmp_path: Path
) -> Iterator[Tenant]:
    made = Tenant(platform, machine, tmp_path, shape=request.param)
    made.task("provision")
    yield made
    assert unclean(made.release()) == {}


class Inspector:
    """Sends inspections as the platform does: each receipt is a resource of its own."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.asked = 0

    def result(self, depth: str = "gone", **changes: object) -> JsonObject:
        self.asked += 1
        spec: JsonObject = {
            "receipt_id": f"rcp_{self.tenant.allocation_id[4:]}{self.asked}",
            "instance_id": "ins_1",
            "allocation_id": self.tenant.allocation_id,
            "shape": self.tenant.shape,
            "depth": depth,
            "footprint": FOOTPRINT,
            "revoked_serials": [],
            **changes,
        }
        return self.tenant.platform.wait_result(
            self.tenant.platform.submit("inspect", spec, resource_id=str(spec["receipt_id"]))
        )

    def left(self, depth: str = "gone", **changes: object) -> dict[str, list[str]]:
        result = self.result(depth, **changes)
        assert result["status"] == "succeeded", result["failure"]
        answer = result["result"]
        assert isinstance(answer, dict)
        assert [check["problem"] for check in answer["checks"]] == [""] * len(answer["checks"])
        found = {
            check["name"]: [one["item"] for one in check["found"] if not one["known"]] for check in answer["checks"]
        }
        return {name: items for name, items in found.items() if items}


def put_app_on(tenant: Tenant) -> None:
    done = tenant.ssh(APP)
    assert done.returncode == 0, done.stderr


def test_before_any_app_nothing_is_left_though_the_footprint_names_things_of_the_system(tenant: Tenant) -> None:
    assert Inspector(tenant).left() == {}


def test_a_controller_that_says_done_while_everything_runs_is_found_out(tenant: Tenant) -> None:
    put_app_on(tenant)
    left = Inspector(tenant).left()
    assert "echo.service is loaded" in left["units"]
    assert "/etc/systemd/system/echo.service" in left["units"]
    # The service, its child in a session of its own, the bare server, and the orphan with the mark.
    assert len(left["processes"]) == 4
    assert left["ports"] == ["tcp 0.0.0.0:7777"]
    assert set(left["paths"]) == {"/opt/echo", "/run/echo", "/usr/local/share/echo-data"}
    assert left["users"] == ["echo (/var/lib/echo)"]
    assert left["mounts"] == ["/mnt/echo"]
    assert left["cron"] == ["/etc/cron.d/echo"]
    assert left["containers"] == ["echo-1 (not running)"]
    assert left["authorized_keys"] == ["/var/lib/echo/.ssh/authorized_keys"]
    assert tenant.ssh(STOP + REMOVE).returncode == 0
    assert Inspector(tenant).left() == {}


def test_a_stopped_app_may_keep_its_files_but_a_job_child_that_lives_on_is_found(tenant: Tenant) -> None:
    put_app_on(tenant)
    tenant.ssh("sudo pkill -x echo-server; sudo pkill -fx 'sleep 9999'; sudo rm /etc/cron.d/echo")
    tenant.ssh("sudo systemctl kill --kill-whom=main --signal=KILL echo.service")
    left = Inspector(tenant).left("stopped")
    assert len(left["processes"]) == 1  # its parent is dead, its group is still the unit's
    assert "ports" not in left
    assert tenant.ssh(STOP + "sudo systemctl reset-failed echo.service").returncode == 0
    assert Inspector(tenant).left("stopped") == {}
    assert set(Inspector(tenant).left()) >= {"paths", "users", "mounts", "units"}


def test_a_certificate_counts_as_revoked_when_the_hosts_own_list_says_so(tenant: Tenant) -> None:
    assert Inspector(tenant).left("stopped", revoked_serials=[41, 42]) == {
        "credentials": ["certificate 41 still opens", "certificate 42 still opens"]
    }
    tenant.task("sync_access", revoked_serials=[41, 42, 43])
    assert Inspector(tenant).left("stopped", revoked_serials=[41, 42]) == {}


def test_a_link_that_a_tenant_plants_leads_the_agent_nowhere(tenant: Tenant, machine: LabMachine) -> None:
    machine.run(["touch", "/root/only-the-host-has-this"])
    tenant.ssh("sudo rm -rf /opt/echo; sudo ln -s /root /opt/echo")
    left = Inspector(tenant).left(footprint={"paths": ["/opt/echo/only-the-host-has-this"]})
    machine.run(["rm", "/root/only-the-host-has-this"])
    assert left == ({} if tenant.shape == "gpu_slice" else {"paths": ["/opt/echo/only-the-host-has-this"]})
    tenant.ssh("sudo rm /opt/echo")


def test_a_hostile_footprint_is_refused_and_nothing_is_run(tenant: Tenant) -> None:
    for hostile in ({"units": ["x.service; touch /tmp/owned"]}, {"paths": ["/opt/../etc/shadow"]}):
        result = Inspector(tenant).result(footprint=hostile)
        failure = result["failure"]
        assert isinstance(failure, dict)
        assert failure["code"] == "spec_invalid"
    assert tenant.ssh("test -e /tmp/owned").returncode == 1


def test_an_allocation_that_is_not_here_cannot_be_looked_at(tenant: Tenant) -> None:
    failure = Inspector(tenant).result(allocation_id="alc_other")["failure"]
    assert isinstance(failure, dict)
    assert failure["code"] == "allocation_not_here"


def test_evidence_holds_no_arguments_and_no_contents(tenant: Tenant) -> None:
    tenant.ssh("setsid python3 -c 'import time; time.sleep(60)' --password=hunter2 >/dev/null 2>&1 </dev/null &")
    result = Inspector(tenant).result(footprint={"processes": ["python3*"], "paths": ["/etc/shadow"]})
    told = json.dumps(result)
    assert "python3" in told
    assert "hunter2" not in told
    tenant.ssh("pkill -f hunter2")


def test_an_agent_killed_while_it_looks_looks_again(tenant: Tenant, machine: LabMachine) -> None:
    put_app_on(tenant)
    spec: JsonObject = {
        "receipt_id": f"rcp_{tenant.allocation_id[4:]}k",
        "instance_id": "ins_1",
        "allocation_id": tenant.allocation_id,
        "shape": tenant.shape,
        "depth": "gone",
        "footprint": FOOTPRINT,
        "revoked_serials": [],
    }
    task_id = tenant.platform.submit("inspect", spec, resource_id=str(spec["receipt_id"]))
    machine.host.kill_agent()
    assert tenant.platform.wait_result(task_id)["status"] == "succeeded"
