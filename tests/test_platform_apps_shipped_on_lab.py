"""The process that provides the platform's apps as it is shipped: its own unit file under a real systemd."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from gpuaas_sdk import NotFound
from system_support import packaged
from system_support.echo_lab import HUB, says
from system_support.lab_site import LabApp, lab_site
from system_support.packaged import ROOT

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
NAME = "gpuaas-platform-apps"
UNIT, PLACE = f"{NAME}.service", f"/opt/{NAME}"  # PLACE: of the unit's ExecStart
SETTLE = 180.0


@pytest.fixture(scope="module")
def lab() -> Iterator[LabApp]:
    with lab_site("apps-shipped", 2) as (sandbox, fleet):
        made = LabApp(sandbox, "echo")
        made.settle_on(fleet)
        yield made


def install_unit(lab: LabApp, folder: Path) -> None:
    """On the second host, as the guide says: packages, environment, account, unit."""
    machine, server = lab.hosts[1], lab.sandbox.server
    packaged.install(machine, PLACE, packaged.wheels(folder / "built", ROOT / "sdk", ROOT / "apps" / "echo"))
    account = folder / "account.json"
    command = [str(Path(sys.executable).with_name("gpuaas-server")), "apps-account", str(account)]
    subprocess.run(command, env=server.environment, check=True, capture_output=True, timeout=SETTLE)
    [url] = json.loads(server.environment["GPUAAS_AGENT_URLS"])
    settings = {"GPUAAS_URL": url, "GPUAAS_CA_FILE": f"/etc/{NAME}/ca.pem", "GPUAAS_APPS": "echo"}
    agents = httpx.get(f"{server.url}/api/v1/agent/ca", timeout=10)
    machine.write_file(f"/etc/{NAME}/ca.pem", agents.json()["ca_pem"])
    machine.write_file(f"/etc/{NAME}/environment", "".join(f"{name}={value}\n" for name, value in settings.items()))
    machine.write_file(f"/etc/{NAME}/account.json", account.read_text(), 0o600)
    machine.write_file(f"/etc/systemd/system/{UNIT}", (ROOT / "sdk" / "deploy" / UNIT).read_text())
    machine.run(["systemctl", "daemon-reload"])


def test_the_unit_as_it_is_shipped_provides_an_app_and_comes_back_after_a_kill(lab: LabApp, tmp_path: Path) -> None:
    install_unit(lab, tmp_path)
    machine, admin = lab.hosts[1], lab.sandbox.admin
    complaints = machine.run(["systemd-analyze", "verify", f"/etc/systemd/system/{UNIT}"], check=False)
    assert UNIT not in complaints.stdout + complaints.stderr
    machine.run(["systemctl", "start", UNIT])

    def is_served() -> bool | None:
        with suppress(NotFound):
            controller = admin.catalog.show(lab.project_id, "echo").controller
            return True if controller is not None and controller.state == "live" else None
        return None

    admin.wait_for(is_served, SETTLE, "echo to be served")
    instance, deploy = lab.deploy("shipped", [("hub", lab.places[0])])
    lab.succeeds(deploy)
    assert says(lab.hosts[0].address, HUB, "ping") == "hello ping"
    shown = machine.run(["systemctl", "show", "-p", "MainPID", UNIT]).stdout
    pid = re.search(r"MainPID=(\d+)", shown)
    assert pid is not None
    assert "Uid:\t0" not in machine.read_file(f"/proc/{pid[1]}/status"), "it has an account of its own, made for it"
    secret = str(json.loads(machine.read_file(f"/etc/{NAME}/account.json"))["client_secret"])
    assert secret not in machine.read_file(f"/proc/{pid[1]}/cmdline") + machine.read_file(f"/proc/{pid[1]}/environ")
    kept = machine.run(["stat", "-L", "-c", "%a", f"/var/lib/{NAME}"]).stdout.strip()
    assert kept == "700", "the keys of its controllers are there"
    machine.run(["systemctl", "kill", "--signal=KILL", UNIT])  # with the controller that it runs
    lab.torn_down(instance)
    assert "NRestarts=0" not in machine.run(["systemctl", "show", "-p", "NRestarts", UNIT]).stdout
    machine.run(["systemctl", "stop", UNIT], timeout=70)
    assert machine.run(["pgrep", "-f", "gpuaas_echo.controller"], check=False).stdout == "", (
        "its controller goes with it"
    )
