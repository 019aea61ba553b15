"""A controller says that an app is gone, and a real host is asked: whoever lies is found out, whoever forces is on record."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gpuaas_cli.main import app
from gpuaas_lab import Host
from gpuaas_sdk import NewAllocation, Receipt
from gpuaas_sdk.testing import Sandbox
from system_support.lab_site import lab_site
from system_support.little_app import LittleApp
from system_support.ssh_client import SshClient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

INSTALL = r"""
set -e
sudo useradd --system --no-create-home little
sudo mkdir -p /opt/little
sudo tee /opt/little/serve.py >/dev/null <<'PROGRAM'
import socket, subprocess, time
subprocess.Popen(["sleep", "7345"], start_new_session=True)
server = socket.create_server(("0.0.0.0", 7345))
time.sleep(7345)
PROGRAM
sudo tee /etc/systemd/system/little.service >/dev/null <<'UNIT'
[Service]
ExecStart=/usr/bin/python3 /opt/little/serve.py
User=little
KillMode=process
UNIT
sudo systemctl daemon-reload
sudo systemctl start little.service
"""
STOP = "sudo systemctl stop little.service; sudo pkill -fx 'sleep 7345'; true"
REMOVE = "sudo rm -rf /opt/little /etc/systemd/system/little.service; sudo systemctl daemon-reload; sudo userdel little"


@dataclass
class Place:
    """One allocation on a real host, and the app on it."""

    sandbox: Sandbox
    app: LittleApp
    host: Host
    allocation_id: str
    ssh_client: SshClient

    def receipt(self, operation_id: str) -> Receipt:
        client, project = self.sandbox.admin, self.sandbox.project_id
        [line] = client.receipts.list(project, operation_id=operation_id)
        return client.receipts.show(project, line.id)

    def left(self, operation_id: str) -> dict[str, list[str]]:
        checks = self.receipt(operation_id).checks
        found = {check.name: [one.item for one in check.found if not one.known] for check in checks}
        return {name: items for name, items in found.items() if items}

    def tell(self, command: str) -> None:
        done = self.ssh_client.run(command, seconds=30)
        assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def sandbox_and_host() -> Iterator[tuple[Sandbox, Host]]:
    with lab_site("teardown", 1) as (sandbox, fleet):
        yield sandbox, fleet.hosts[0]


@pytest.fixture(params=[("h100-node", None), ("h100-slice", 2)], ids=["baremetal", "slice"])
def place(request: pytest.FixtureRequest, sandbox_and_host: tuple[Sandbox, Host], tmp_path: Path) -> Iterator[Place]:
    sandbox, host = sandbox_and_host
    sku, gpus = request.param
    made = sandbox.admin.allocations.create(sandbox.project_id, NewAllocation(sku=sku, gpu_count=gpus))[0]
    active = list(sandbox.admin.allocations.follow(sandbox.project_id, [made.id], 90.0))[-1]
    assert active.state == "active", active.failure
    ssh_client = SshClient(sandbox.admin, sandbox.project_id, made.id, tmp_path)
    ssh_client.get_certificate()
    yield Place(sandbox, LittleApp.publish(sandbox.admin, sandbox.project_id), host, made.id, ssh_client)
    sandbox.admin.allocations.release(sandbox.project_id, made.id)
    list(sandbox.admin.allocations.follow(sandbox.project_id, [made.id], 120.0))


def deployed(place: Place) -> str:
    instance_id, operation_id = place.app.launch(place.allocation_id)
    lease = place.app.claim(operation_id)
    place.tell(INSTALL)
    place.app.say_done(operation_id, lease)
    assert place.app.ended(operation_id).status == "succeeded"
    return instance_id


def test_a_controller_that_lies_is_found_out_and_one_that_works_is_believed(place: Place) -> None:
    instance_id = deployed(place)
    lie = place.app.ask(instance_id, "stop")
    place.app.say_done(lie)
    ended = place.app.ended(lie)
    assert ended.status == "failed"
    assert ended.failure is not None
    assert ended.failure.code == "teardown_incomplete"
    assert "little.service is loaded" in ended.failure.message
    left = place.left(lie)
    assert left["ports"] == ["tcp 0.0.0.0:7345"]
    assert len(left["processes"]) == 2  # the server and its job child
    assert "paths" not in left  # a stopped app keeps its files

    honest = place.app.ask(instance_id, "stop")
    lease = place.app.claim(honest)
    place.tell(STOP)
    place.app.say_done(honest, lease)
    assert place.app.ended(honest).status == "succeeded"
    assert (place.receipt(honest).status, place.receipt(honest).depth) == ("clean", "stopped")
    assert place.receipt(lie).status == "left"  # what was seen then stays what was seen

    gone = place.app.ask(instance_id, "decommission")
    lease = place.app.claim(gone)
    place.tell(REMOVE)
    place.app.say_done(gone, lease)
    assert place.app.ended(gone).status == "succeeded"
    assert (place.receipt(gone).verified, place.receipt(gone).depth) == (True, "gone")


def test_a_forced_teardown_is_not_verified_for_ever_and_its_receipt_outlives_the_instance(place: Place) -> None:
    instance_id = deployed(place)
    lie = place.app.ask(instance_id, "decommission")
    place.app.say_done(lie)
    assert place.app.ended(lie).status == "failed"
    assert {"units", "processes", "ports", "paths", "users"} <= set(place.left(lie))
    place.sandbox.admin.operations.force(place.sandbox.project_id, lie, "the disk will be shredded")
    forced = place.receipt(lie)
    assert (forced.status, forced.verified) == ("not_verified", False)
    assert forced.forced is not None
    assert forced.forced.reason == "the disk will be shredded"
    assert forced.left > 0
    kept = place.sandbox.admin.receipts.list(place.sandbox.project_id, instance_id=instance_id)
    assert [one.id for one in kept] == [forced.id]


def test_a_viewer_reads_on_the_command_line_what_is_left(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    instance_id = deployed(place)
    lie = place.app.ask(instance_id, "stop")
    place.app.say_done(lie)
    place.app.ended(lie)
    monkeypatch.setenv("GPUAAS_URL", place.sandbox.server.url)
    monkeypatch.setenv("GPUAAS_TOKEN", place.sandbox.bearer("project_viewer"))
    monkeypatch.setenv("GPUAAS_PROJECT", place.sandbox.project_id)
    monkeypatch.setenv("COLUMNS", "200")
    listed = CliRunner().invoke(app, ["receipts", "list", "--instance", instance_id, "--status", "left"])
    receipt_id = place.receipt(lie).id
    assert receipt_id in listed.stdout
    shown = CliRunner().invoke(app, ["receipts", "show", receipt_id]).stdout
    for part in ("CHECK", "VERDICT", "EVIDENCE", "little.service is loaded [little.service]", "teardown_incomplete"):
        assert part in shown
    place.sandbox.admin.operations.force(place.sandbox.project_id, lie, "so that the allocation can be released")


def test_the_controllers_access_ends_with_its_report_and_the_host_shows_it(place: Place, tmp_path: Path) -> None:
    instance_id = deployed(place)
    operation_id = place.app.ask(instance_id, "stop")
    lease = place.app.claim(operation_id)
    (tmp_path / "controller").mkdir()
    project, controller = place.sandbox.project_id, place.app.controller
    ssh_client = SshClient(controller, project, place.allocation_id, tmp_path / "controller")
    access = controller.ssh_access.for_operation(project, operation_id, lease, ssh_client.make_key())
    [certificate] = access.certificates
    ssh_client.use(certificate)
    assert ssh_client.run(STOP).returncode == 0
    place.app.say_done(operation_id, lease)
    assert place.app.ended(operation_id).status == "succeeded"
    credentials = next(one for one in place.receipt(operation_id).checks if one.name == "credentials")
    assert (credentials.verdict, credentials.entries) == ("absent", [str(certificate.serial)])
    assert not ssh_client.can_log_in


def test_a_host_whose_agent_is_away_is_waited_for_and_asked_when_it_is_back(place: Place) -> None:
    instance_id = deployed(place)
    place.host.run(["systemctl", "stop", "gpuaas-agent"])
    operation_id = place.app.ask(instance_id, "decommission")
    lease = place.app.claim(operation_id)
    place.tell(f"{STOP}; {REMOVE}")
    place.app.say_done(operation_id, lease)
    waiting = place.sandbox.admin.operations.show(place.sandbox.project_id, operation_id)
    assert (waiting.status, waiting.phase) == ("running", "verifying")
    assert place.receipt(operation_id).status == "pending"
    place.host.run(["systemctl", "start", "gpuaas-agent"])  # it comes back in time, and the look goes on
    assert place.app.ended(operation_id, 110.0).status == "succeeded"
