"""A tenant with root who wants to stay: what the wipe takes away, with a restart of the host in it, and what it never obeys."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_machine import LabMachine, Tenant, lab_machine, unclean
from little_platform import JsonObject, LittlePlatform

pytestmark = [pytest.mark.lab, pytest.mark.hostile]

STATE = "/var/lib/gpuaas/agent"
# Each line would outlive a wipe that trusts what the host says of itself.
STAYING = r"""
set -e
sudo sh -c 'cp /usr/sbin/cron /usr/sbin/cron.new; echo >> /usr/sbin/cron.new; mv /usr/sbin/cron.new /usr/sbin/cron'
sudo systemctl restart cron
sudo sh -c 'cp /usr/lib/systemd/systemd /root/s; echo >> /root/s; mv /root/s /usr/lib/systemd/systemd'
sudo systemctl daemon-reexec
sudo sh -c 'echo nameserver 6.6.6.6 > /etc/resolv.conf; echo evil > /var/cache/evil; mkdir -p /var/lib/systemd/linger'
sudo sh -c 'echo payload > /var/lib/systemd/linger/root; echo x > /var/lib/systemd/random-seed.x'
sudo sh -c 'mkdir -p /var/log/journal/evil; echo x > /var/log/journal/evil/system.journal'
sudo sh -c 'cd /var/log/journal/$(cat /etc/machine-id) && cp system.journal system@evil.journal'
sudo sh -c 'echo 6.6.6.6 evil >> /etc/hosts; chattr +i /etc/hosts; chattr +i /etc/issue; touch /usr'
sudo sh -c 'mkdir -p /etc/systemd/system-generators /etc/udev/rules.d; echo x > /etc/udev/rules.d/99-evil.rules'
sudo sh -c 'printf "#!/bin/sh\ntouch /run/evil-generator\n" > /etc/systemd/system-generators/evil'
sudo sh -c 'chmod 755 /etc/systemd/system-generators/evil'
sudo sh -c 'touch /etc/ld.so.preload; echo "session optional pam_exec.so /bin/true" >> /etc/pam.d/sshd'
sudo sh -c 'echo "touch /root/evil" >> /root/.bashrc; echo "AuthorizedKeysFile /etc/evil" > /etc/ssh/sshd_config.d/01-evil.conf'
sudo nft add table inet evil
sudo ip route add 10.99.0.0/24 via $(ip route | awk '/default/{print $3}')
sudo ip netns add evil
sudo sysctl -q -w net.ipv4.ip_forward=1
sudo sh -c 'mknod /dev/evil c 1 3; mkdir -p /run/udev/rules.d; echo x > /run/udev/rules.d/evil.rules'
sudo sh -c 'mkdir -p /lost+found /mnt/root; echo x > /lost+found/evil; mount --bind / /mnt/root'
sudo sh -c 'cd /mnt/root; mkdir run/evil; echo x > run/evil/x; echo x > tmp/evil; cd /; umount /mnt/root; rmdir /mnt/root'
sudo python3 -c 'import os; os.setxattr("/", "user.evil", b"x"); os.setxattr("/var/tmp", "user.evil", b"x")'
sudo sh -c 'sed -i s/10.77/10.66/ /etc/gpuaas/agent.json'
sudo sh -c 'mkdir -p /run/systemd/system-generators /run/systemd/system.conf.d; touch /run/systemd-evil'
sudo sh -c 'printf "#!/bin/sh\ntrue\n" > /run/systemd/system-generators/evil; touch /run/systemd/system.conf.d/evil.conf'
sudo sh -c 'f=$(find /run/systemd/generator -type l | grep remount-fs); rm $f; echo x > $f'
"""


@pytest.fixture(scope="module")
def machine() -> Iterator[LabMachine]:
    with lab_machine() as opened:
        yield opened


@pytest.fixture(scope="module")
def platform(machine: LabMachine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LittlePlatform]:
    with LittlePlatform(tmp_path_factory.mktemp("platform"), machine.platform_address, tls=True) as serving:
        machine.start_agent(serving)
        yield serving


@pytest.fixture
def tenant(platform: LittlePlatform, machine: LabMachine, tmp_path: Path) -> Tenant:
    return Tenant(platform, machine, tmp_path, grade="rebooted")


def boot_id(machine: LabMachine) -> str:
    return machine.run(["cat", "/proc/sys/kernel/random/boot_id"]).stdout.strip()


def restart_agent(tenant: Tenant) -> None:
    """As a tenant does who wants the agent to read what was planted."""
    heartbeats = len(tenant.platform.heartbeats)
    tenant.machine.host.kill_agent()
    with tenant.platform.changed:
        assert tenant.platform.changed.wait_for(lambda: len(tenant.platform.heartbeats) > heartbeats, timeout=60)


def test_a_host_restarts_inside_its_wipe_and_nothing_of_the_tenant_is_left(tenant: Tenant, machine: LabMachine) -> None:
    tenant.task("provision")
    before = boot_id(machine)
    mess = tenant.ssh(STAYING)
    assert mess.returncode == 0, mess.stderr
    verdict = tenant.release()
    assert unclean(verdict) == {}
    assert verdict["grade"] == "rebooted"
    seen = tenant.evidence["verify_wipe"]
    assert (seen["boot_id_before_wipe"], seen["boot_id"]) == (before, boot_id(machine))
    assert before != boot_id(machine)
    assert seen["agent_sha256"] == tenant.platform.heartbeats[0]["agent_sha256"]
    assert machine.run(["cat", "/etc/resolv.conf"]).stdout == ""
    assert not machine.run(["sh", "-c", "ls /run/evil-generator /etc/hosts.evil /root/evil"], check=False).stdout
    assert "10.77" in machine.run(["cat", "/etc/gpuaas/agent.json"]).stdout
    assert not tenant.may_log_in()


def test_the_next_tenant_gets_the_host_that_was_restarted(tenant: Tenant) -> None:
    tenant.task("provision")
    assert tenant.ssh("sudo id -u").stdout.strip() == "0"
    assert unclean(tenant.release()) == {}


def test_without_a_wipe_every_replaced_program_is_named(tenant: Tenant) -> None:
    tenant.grade = "inspected"
    tenant.task("provision")
    assert tenant.ssh(STAYING).returncode == 0
    tenant.task("deprovision")
    found = unclean(tenant.task("verify_wipe"))
    assert any(line.startswith("pid 1 ") and "/usr/lib/systemd/systemd" in line for line in found["processes"])
    assert any("/usr/sbin/cron" in line for line in found["processes"])
    assert {"added /var/cache/evil", "changed /etc/resolv.conf", "changed /etc/issue"} <= set(found["files"])
    assert {"added /lost+found/evil", "changed /", "changed /var/tmp"} <= set(found["files"])
    assert found["mounts"] == [f"under a mount: added /{path}" for path in ("run/evil", "run/evil/x", "tmp/evil")]
    assert "left /run/systemd-evil" in found["files"]
    assert {"added /run/systemd/system-generators/evil", "added /run/systemd/system.conf.d/evil.conf"} <= set(
        found["units"]
    )
    changed = "changed /run/systemd/generator/local-fs.target.wants/systemd-remount-fs.service"
    assert changed in found["units"]
    assert any("inet evil" in line for line in found["kernel"])
    assert any("ip_forward = 1" in line for line in found["kernel"])
    assert "now: network namespace evil" in found["kernel"]
    assert found["configuration"] == ["changed /etc/gpuaas/agent.json"]
    tenant.grade = "rebooted"
    tenant.task("wipe")
    assert unclean(tenant.task("verify_wipe")) == {}


# Systemd starts the agent as the child of a program of the tenant's.
PARENT = r"""
set -e
sudo mkdir -p /etc/systemd/system/gpuaas-agent.service.d
sudo tee /etc/systemd/system/gpuaas-agent.service.d/evil.conf >/dev/null <<'EVIL'
[Service]
ExecStart=
ExecStart=/bin/bash -c 'sleep 99981 & /usr/bin/python3 -m gpuaas_agent run & while :; do date > /root/evil; sleep 0.2; done'
EVIL
sudo systemctl daemon-reload
sudo systemctl restart gpuaas-agent
sleep 1
pgrep -f root/evil >/dev/null
"""
# The agent's own process had another program, which left it a child.
CHILD = PARENT.replace("/usr/bin/python3 -m gpuaas_agent run & while", "(while").replace(
    "sleep 0.2; done'", "sleep 0.2; done) & exec /usr/bin/python3 -m gpuaas_agent run'"
)
# A known service is started a while after it ended, with a drop-in that returns as often as it is removed.
LATE = r"""
set -e
sudo mkdir -p /etc/systemd/system/cron.service.d
sudo tee /root/late >/dev/null <<'EVIL'
f=/etc/systemd/system/cron.service.d/evil.conf; t=$(<$f); s=$(</root/late)
if [ -e /run/evil-late ]; then
(while :; do [ -e $f ] && [ -e /root/late ] || { mkdir -p ${f%/*}; echo "$t" > $f; echo "$s" > /root/late; sync; }
sleep 0.1; done) &
else rm -r ${f%/*} /root/late; export EVIL_LATE=1; fi
exec /usr/sbin/cron -f
EVIL
sudo tee /etc/systemd/system/cron.service.d/evil.conf >/dev/null <<'EVIL'
[Service]
Restart=always
RestartSec=2
ExecStart=
ExecStart=/bin/bash -c '. /root/late'
EVIL
sudo touch /run/evil-late
sudo systemctl daemon-reload
sudo systemctl restart cron
sleep 0.5
pgrep -f 'bash -c . /root/late' >/dev/null
"""
LEFT = (
    "pgrep -fa 'root/[e]vil|root/[l]ate|[s]leep 99981'; grep -lsz '^EVIL_LATE=' /proc/[0-9]*/environ;"
    " find /etc/systemd/system /root -name 'evil*' -o -name late"
)


@pytest.mark.parametrize(
    ("trick", "grade"),
    [
        pytest.param(PARENT, "rebooted", id="parent-rebooted"),
        pytest.param(PARENT, "inspected", id="parent-inspected"),
        pytest.param(CHILD, "rebooted", id="child-rebooted"),
        pytest.param(CHILD, "inspected", id="child-inspected"),
        # Without a restart, it may hide in the memory of a known service.
        pytest.param(LATE, "rebooted", id="late-rebooted"),
    ],
)
def test_what_systemd_starts_for_the_tenant_is_gone_after_the_wipe_or_named(
    tenant: Tenant, machine: LabMachine, trick: str, grade: str
) -> None:
    tenant.grade = grade
    tenant.task("provision")
    planted = tenant.ssh(trick)
    assert planted.returncode == 0, planted.stderr
    tenant.task("deprovision")
    if trick is PARENT:  # it is ended with the agent, which the wipe starts anew
        named = unclean(tenant.task("verify_wipe"))["processes"]
        assert any("root/evil" in line for line in named), named
    tenant.task("wipe")
    assert unclean(tenant.task("verify_wipe")) == {}
    assert not machine.run(["sh", "-c", LEFT], check=False).stdout


@pytest.mark.parametrize(("blow", "pause"), [("kill", 0.5), ("kill", 5.0), ("power", 1.0), ("power", 4.0)])
def test_a_wipe_goes_on_behind_its_restart_whatever_is_killed_when(
    tenant: Tenant, machine: LabMachine, pause: float, blow: str
) -> None:
    tenant.task("provision")
    assert tenant.ssh("sudo touch /usr/local/left-behind").returncode == 0
    tenant.task("deprovision")
    before = boot_id(machine)
    task_id = tenant.submit("wipe")
    time.sleep(pause)
    if blow == "power":
        machine.host.power_cut()
        machine.host.power_on()
    elif machine.host.is_on:
        machine.run(["systemctl", "kill", "-s", "KILL", "gpuaas-agent"], check=False)
    result = tenant.platform.wait_result(task_id, 300)
    assert result["status"] == "succeeded", result
    assert unclean(tenant.task("verify_wipe")) == {}
    assert boot_id(machine) != before


def test_planted_progress_of_the_wipe_does_not_spare_the_host_its_restart(tenant: Tenant, machine: LabMachine) -> None:
    """The tenant knows the allocation and can count tasks; the id of the wipe comes with the wipe."""
    tenant.task("provision")
    tenant.task("deprovision")
    before = boot_id(machine)
    planted = {
        "allocation_id": tenant.allocation_id,
        "generation": tenant.generation + 1,
        "boot_id": "x",
        "attempts": 1,
    }
    machine.host.write_file(f"{STATE}/wipe.json", json.dumps(planted), 0o600)
    tenant.task("wipe")
    assert unclean(tenant.task("verify_wipe")) == {}
    assert (tenant.evidence["verify_wipe"]["boot_id_before_wipe"], boot_id(machine) != before) == (before, True)


def test_a_power_cut_between_a_wipe_and_its_verification_leaves_no_trace(tenant: Tenant, machine: LabMachine) -> None:
    tenant.task("provision")
    tenant.task("deprovision")
    tenant.task("wipe")
    ended = boot_id(machine)
    machine.host.power_cut()
    machine.host.power_on()
    assert unclean(tenant.task("verify_wipe")) == {}
    assert boot_id(machine) != ended


def test_what_is_planted_in_the_agents_folder_never_acts_and_is_gone_after_the_wipe(
    tenant: Tenant, machine: LabMachine, tmp_path: Path
) -> None:
    key = tmp_path / "attacker"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    tenant.task("provision")
    _plant(machine, tenant, key.with_suffix(".pub").read_text().strip())
    restart_agent(tenant)
    tenant.task("sync_access")  # the agent serves the tenant as before
    time.sleep(3)  # the time in which expired grants are written anew
    assert tenant.ssh("true", key=key).returncode != 0
    assert tenant.ssh("cat /usr/local/share/.gpuaas-*").returncode == 0  # no planted wipe has run
    listed = {str(reported["allocation_id"]) for beat in tenant.platform.heartbeats for reported in beat["allocations"]}  # type: ignore[attr-defined]
    assert "alc_evil" not in listed
    _plant(machine, tenant, key.with_suffix(".pub").read_text().strip())
    machine.run(["sh", "-c", f"sed -i s/10[.]77/10.66/g {STATE}/node.json"])
    assert unclean(tenant.release()) == {}
    left = machine.run(["find", STATE, "-path", f"{STATE}/baseline/blobs", "-prune", "-o", "-print"]).stdout
    assert "evil" not in left, left  # a `.new` without it is what the agent itself writes at this moment
    assert "10.66" not in machine.run(["cat", f"{STATE}/node.json"]).stdout


def _plant(machine: LabMachine, tenant: Tenant, key: str) -> None:
    past = "2020-01-01T00:00:00.000Z"
    grants = [{"grant_id": f"gra_{n}", "public_key": key, "expires_at": past if n else None} for n in range(2)]
    record: JsonObject = {
        "shape": "baremetal",
        "generation": 1,
        "login_user": "gpu",
        "principal": "x",
        "grants": grants,
    }
    own = json.loads(machine.run(["cat", f"{STATE}/allocations/{tenant.allocation_id}.json"]).stdout)
    forged = json.dumps({"task_id": "tsk_evil", "node_id": next(iter(tenant.platform.nodes)), "kind": "wipe",
        "resource_id": "alc_evil", "generation": 1, "deadline": "2100-01-01T00:00:00Z",
        "spec": {"allocation_id": "alc_evil", "shape": "baremetal", "slots": []}})  # fmt: skip
    task = {"envelope": forged, "kid": "k1", "signature": "c2ln", "generation": 1, "result": None}
    files = {
        "allocations/alc_evil.json": {**record, "allocation_id": "alc_evil"},
        f"allocations/{tenant.allocation_id}.json": {**own, "grants": grants},
        "resources/alc_evil.json": {"generation": 1, "tasks": {"tsk_evil": task}},
        "resources/.evil.new": {},
        "evil/deep/er.json": {},
        "baseline/blobs/evil": {},
    }
    for name, content in files.items():
        machine.host.write_file(f"{STATE}/{name}", json.dumps(content), 0o600)
    machine.run(["ln", "-sf", "/etc/passwd", f"{STATE}/resources/alc_evil2.json"])
