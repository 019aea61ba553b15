"""The controller of Slurm clusters as it is shipped: its own unit file under a real systemd, and its container file read."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from system_support import packaged
from system_support.packaged import ROOT
from system_support.slurm_lab import SlurmLab, slurm_lab, traces

DEPLOY = ROOT / "apps" / "slurm" / "deploy"
UNIT = "gpuaas-slurm.service"
PLACE = "/opt/gpuaas-slurm"  # of the unit's ExecStart


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return packaged.wheels(tmp_path_factory.mktemp("built"), ROOT / "sdk", ROOT / "apps" / "slurm")


@pytest.fixture(scope="module")
def lab() -> Iterator[SlurmLab]:
    with slurm_lab("slurm-shipped", 2) as made:
        yield made


def settled_in(lab: SlurmLab, built: list[Path]) -> None:
    """On the second host, as the README says: environment, secret, unit."""
    machine, settings = lab.hosts[1], lab.controller()
    packaged.install(machine, PLACE, built)
    agents = httpx.get(f"{lab.sandbox.server.url}/api/v1/agent/ca", timeout=10)
    machine.write_file("/etc/gpuaas-slurm/ca.pem", agents.json()["ca_pem"])
    [url] = json.loads(lab.sandbox.server.environment["GPUAAS_AGENT_URLS"])
    environment = {"URL": url, "PROJECT": settings.project_id, "CLIENT_ID": settings.client_id}
    environment |= {"CA_FILE": "/etc/gpuaas-slurm/ca.pem"}
    lines = [f"GPUAAS_{name}={value}\n" for name, value in environment.items()]
    machine.write_file("/etc/gpuaas-slurm/environment", "".join(lines))
    machine.write_file("/etc/gpuaas-slurm/client-secret", settings.client_secret, 0o600)
    machine.write_file(f"/etc/systemd/system/{UNIT}", (DEPLOY / UNIT).read_text())
    machine.run(["systemctl", "daemon-reload"])


@pytest.mark.lab
@pytest.mark.timeout(600)
def test_the_unit_as_it_is_shipped_runs_clusters_and_comes_back_after_a_kill(lab: SlurmLab, built: list[Path]) -> None:
    settled_in(lab, built)
    machine = lab.hosts[1]
    complaints = machine.run(["systemd-analyze", "verify", f"/etc/systemd/system/{UNIT}"], check=False)
    assert UNIT not in complaints.stdout + complaints.stderr
    machine.run(["systemctl", "start", UNIT])
    instance = lab.launched("shipped", [0], packages="host")
    assert lab.as_user("srun", "-Q", "--input=none", "hostname") == lab.hosts[0].name
    shown = machine.run(["systemctl", "show", "-p", "MainPID,User,NRestarts", UNIT]).stdout
    pid = re.search(r"MainPID=(\d+)", shown)
    assert pid is not None
    status = machine.read_file(f"/proc/{pid[1]}/status")
    assert "Uid:\t0" not in status  # an account of its own, made for it
    secret = machine.read_file("/etc/gpuaas-slurm/client-secret")
    for where in ("cmdline", "environ"):
        assert secret not in machine.read_file(f"/proc/{pid[1]}/{where}")
    machine.run(["systemctl", "kill", "--signal=KILL", UNIT])
    lab.torn_down(instance)
    assert traces(lab.hosts[0]) == []
    assert "NRestarts=0" not in machine.run(["systemctl", "show", "-p", "NRestarts", UNIT]).stdout
    machine.run(["systemctl", "stop", UNIT], timeout=70)
    assert machine.run(["pgrep", "-f", "gpuaas-slurm$"], check=False).stdout == ""


def steps() -> list[tuple[str, str]]:
    """The container file's instructions, with continued lines in one."""
    text = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines)]


def test_the_container_file_copies_what_there_is_pins_what_it_installs_and_starts_what_it_installed(
    built: list[Path],
) -> None:
    said = steps()
    assert [word for word, _ in said] == ["ARG", "FROM", "COPY", "COPY", "COPY", "RUN", "USER", "ENV", "ENTRYPOINT"]
    copied = [source for word, rest in said if word == "COPY" for source in rest.split()[:-1]]
    assert [one for one in copied if not (ROOT / one).exists()] == []
    [installing] = [rest for word, rest in said if word == "RUN"]
    for command in (one.strip() for one in installing.split("&&")):
        if command.startswith("pip"):  # from an index only by digest; what is ours needs none
            assert "--require-hashes" in command or {"--no-deps", "--no-build-isolation"} <= set(command.split())
    [user] = [rest for word, rest in said if word == "USER"]
    assert not user.startswith("0")
    [program] = [rest for word, rest in said if word == "ENTRYPOINT"]
    [wheel] = [one for one in built if one.name.startswith("gpuaas_slurm")]
    assert program.strip('[]"') in packaged.entry_points(wheel)


def test_what_hosts_run_and_what_is_registered_is_in_the_wheel(built: list[Path]) -> None:
    source = ROOT / "apps" / "slurm"
    wanted = [*source.glob("gpuaas_slurm/**/*.py"), source / "gpuaas_slurm" / "manifest.yaml"]
    [wheel] = [one for one in built if one.name.startswith("gpuaas_slurm")]
    assert {str(one.relative_to(source)) for one in wanted} <= packaged.contents(wheel)
