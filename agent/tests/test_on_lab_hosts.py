"""The agent on real little hosts: tenants come over SSH, make a mess, and leave no trace."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from lab_machine import LabMachine, Tenant, lab_machine, unclean
from little_platform import LittlePlatform

from gpuaas_lab.host import BOOT_TIMEOUT

pytestmark = pytest.mark.lab

LITTER = r"""
set -e
echo secret > ~/secret
mkdir -p ~/.ssh; cp /etc/ssh/ssh_host_ed25519_key.pub ~/.ssh/authorized_keys
sudo sh -c 'echo evil > /usr/local/bin/evil; chmod 4755 /usr/local/bin/evil'
sudo sh -c 'echo 6.6.6.6 evil >> /etc/hosts; rm /etc/issue'
sudo sh -c 'echo "* * * * * root true" > /etc/cron.d/evil'
echo '* * * * * true' | sudo crontab -
sudo useradd -m mallory
sudo mkdir -p /root/.ssh
sudo cp /etc/ssh/ssh_host_ed25519_key.pub /root/.ssh/authorized_keys
printf '[Service]\nExecStart=/bin/sleep 1000\nRestart=always\nRestartSec=0\n[Install]\nWantedBy=multi-user.target\n' \
  | sudo tee /etc/systemd/system/evil.service >/dev/null
sudo systemctl enable --now evil.service 2>/dev/null
sudo systemd-run -q --unit=transient-evil sleep 2000
sudo sh -c 'echo tampered >> /usr/bin/yes; rm /usr/bin/tac; chmod u+s /usr/bin/env'
sudo setcap cap_net_raw+ep /usr/bin/cat
sudo mkdir /mnt/b; sudo mount --bind /etc /mnt/b
echo a > /tmp/a; echo b > /var/tmp/b; echo c > /dev/shm/c; sudo sh -c 'echo d > /run/d'
sudo touch /etc/stuck; sudo chattr +i /etc/stuck
sudo sh -c 'echo "PermitRootLogin yes" >> /etc/ssh/sshd_config; echo x > /var/log/evil.log'
sudo ln -s /etc/passwd /var/log/lead-astray
sudo sh -c 'for d in . slices agent; do echo e > /var/lib/gpuaas/$d/evil; done'
sudo systemctl restart cron
setsid python3 -m http.server 8099 >/dev/null 2>&1 </dev/null &
sudo setsid python3 -m http.server 8098 >/dev/null 2>&1 </dev/null &
sleep 0.5
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


@pytest.fixture
def tenant(platform: LittlePlatform, machine: LabMachine, tmp_path: Path) -> Tenant:
    return Tenant(platform, machine, tmp_path)


@pytest.fixture
def slice_tenant(platform: LittlePlatform, machine: LabMachine, tmp_path: Path) -> Tenant:
    return Tenant(platform, machine, tmp_path, shape="gpu_slice")


def test_the_bundle_is_gone_after_enrolment(machine: LabMachine, tenant: Tenant) -> None:
    assert machine.run(["test", "-e", "/etc/gpuaas/enrolment"], check=False).returncode == 1


def test_a_tenant_logs_in_by_certificate_and_becomes_root(tenant: Tenant) -> None:
    tenant.task("provision")
    assert tenant.ssh("sudo id -u").stdout.strip() == "0"
    assert tenant.task("provision")  # a repeat changes nothing
    assert tenant.may_log_in()
    assert unclean(tenant.release()) == {}
    assert not tenant.may_log_in()


def test_a_host_is_what_it_was_after_a_tenant_with_root_made_a_mess(tenant: Tenant, machine: LabMachine) -> None:
    before = machine.added_files()
    tenant.task("provision")
    mess = tenant.ssh(LITTER)
    assert mess.returncode == 0, mess.stderr
    tenant.task("deprovision")
    assert not tenant.may_log_in()
    ports = machine.run(["cat", "/proc/net/tcp"]).stdout
    assert f":{8099:04X}" not in ports
    assert f":{8098:04X}" not in ports
    tenant.task("wipe")
    assert unclean(tenant.task("verify_wipe")) == {}
    assert machine.run(["getent", "passwd", "mallory", "gpu"], check=False).stdout == ""
    assert machine.run(["/usr/bin/yes", "--version"]).returncode == 0
    assert machine.run(["tac", "/etc/issue"]).returncode == 0
    assert _leftovers(machine.added_files() - before) == set()


def _leftovers(paths: set[str]) -> set[str]:
    """Restored files lie in the upper layer too; what was never in the image may not."""
    words = ("evil", "mallory", "secret", "stuck", "lead-astray", "home/", "var/tmp/", "root/.ssh")
    return {path for path in paths if any(word in path for word in words)}


def test_a_host_serves_the_next_tenant_after_the_mess(tenant: Tenant, machine: LabMachine) -> None:
    tenant.task("provision")
    own = '"$(basename "$SSH_USER_AUTH")"'  # what sshd has just told this very session
    assert tenant.ssh(f"cat ~/secret; ls -A /tmp | grep -v systemd-private | grep -vxF {own}").stdout == ""
    assert unclean(tenant.release()) == {}


def test_a_planted_journal_goes_although_journald_is_stopped(tenant: Tenant, machine: LabMachine) -> None:
    tenant.task("provision")
    path = "/var/log/journal/$(cat /etc/machine-id)/system.journal"
    stop = "systemctl stop systemd-journald.socket systemd-journald-dev-log.socket systemd-journald.service"
    planted = tenant.ssh(
        f"sudo sh -c '{stop}; printf planted > {path}; ! systemctl is-active systemd-journald.service'"
    )
    assert planted.returncode == 0, planted.stderr
    assert unclean(tenant.release()) == {}
    assert machine.run(["sh", "-c", f"head -c 8 {path}"]).stdout == "LPKSHHRH"
    machine.run(["journalctl", "--verify", "--quiet"])


def test_a_wipe_that_lied_is_caught_by_the_marker(tenant: Tenant, machine: LabMachine) -> None:
    tenant.task("provision")
    found = tenant.ssh("cd ~; cat .gpuaas-*; echo /var/tmp/.gpuaas-*").stdout
    marker = found.split("/var/tmp/")[1].strip()
    tenant.task("deprovision")
    tenant.task("wipe")
    machine.host.write_file(f"/var/tmp/{marker}", found[:64])
    verdict = tenant.task("verify_wipe")
    assert verdict["clean"] is False
    assert unclean(verdict)["marker"] == [f"/var/tmp/{marker}"]
    tenant.task("wipe")
    assert unclean(tenant.task("verify_wipe")) == {}


def test_without_a_wipe_verify_names_what_is_left(tenant: Tenant) -> None:
    tenant.task("provision")
    assert tenant.ssh("sudo touch /usr/local/left-behind").returncode == 0
    tenant.task("deprovision")
    found = unclean(tenant.task("verify_wipe"))
    assert "added /usr/local/left-behind" in found["files"]
    assert {"marker", "files", "users"} <= set(found)
    tenant.task("wipe")
    assert unclean(tenant.task("verify_wipe")) == {}


@pytest.mark.parametrize("shape", ["baremetal", "gpu_slice"])
def test_a_session_that_threw_away_how_it_came_in_ends_with_the_next_way_that_is_taken_back(
    tenant: Tenant, shape: str, tmp_path: Path
) -> None:
    tenant.shape = shape
    tenant.task("provision")
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    tenant.platform.user_certificate(other, tenant.allocation_id, serial=8)
    with (
        tenant.open_session("exec env -i sh -c 'echo up; exec cat'") as hidden,
        tenant.open_session("echo up; cat", key=other) as honest,
    ):
        tenant.task("sync_access", revoked_serials=[7])
        hidden.wait(60)
        with tenant.open_session("exec env -i sh -c 'echo up; exec cat'", key=other) as late:
            tenant.task("sync_access", revoked_serials=[7])  # nobody loses anything by it
            assert echoes(late)
            tenant.task("sync_access", revoked_serials=[7, 9])
            late.wait(60)
        assert echoes(honest)
    assert unclean(tenant.release()) == {}


def echoes(session: subprocess.Popen[str]) -> bool:
    """Whether a line that is sent comes back."""
    assert session.stdin is not None
    assert session.stdout is not None
    session.stdin.write("here\n")
    session.stdin.flush()
    return session.stdout.readline() == "here\n"


def test_certificates_of_host_and_slice_are_renewed_before_they_end(
    slice_tenant: Tenant, platform: LittlePlatform, machine: LabMachine, tmp_path: Path
) -> None:
    platform.host_certificate_seconds = 90
    try:
        slice_tenant.task("provision")
        first = {address: shown_certificate(address) for address in (machine.address, slice_tenant.ssh_address)}
        ended = time.time() + platform.host_certificate_seconds + 1
        while time.time() < ended:  # a life has to pass; nothing is to be found out sooner
            time.sleep(1)
        assert slice_tenant.may_log_in()  # known by a certificate alone, and one that has ended is worth nothing
        for address, before in first.items():
            now = shown_certificate(address)
            assert now != before, address
            assert ends_at(now, tmp_path) > time.time(), address
    finally:
        platform.host_certificate_seconds = 24 * 3600
    assert unclean(slice_tenant.release()) == {}


def shown_certificate(address: str) -> str:
    """What sshd there shows to a client."""
    scan = ["ssh-keyscan", "-T", "30", "-c", "-t", "ed25519", address]
    lines = subprocess.run(scan, check=True, capture_output=True, text=True).stdout.splitlines()
    return next(" ".join(line.split()[-2:]) for line in lines if "-cert-" in line)


def ends_at(certificate: str, folder: Path) -> float:
    path = folder / "shown-cert.pub"
    path.write_text(f"{certificate}\n")
    told = subprocess.run(["ssh-keygen", "-L", "-f", str(path)], check=True, capture_output=True, text=True).stdout
    valid = next(line for line in told.splitlines() if "Valid:" in line)
    return datetime.fromisoformat(valid.split(" to ")[1].strip()).timestamp()


@pytest.mark.parametrize("shape", ["baremetal", "gpu_slice"])
def test_a_revoked_serial_is_shut_out_and_may_come_back(tenant: Tenant, shape: str) -> None:
    tenant.shape = shape
    tenant.task("provision")
    assert tenant.may_log_in()
    tenant.task("sync_access", revoked_serials=[7])
    assert not tenant.may_log_in()
    tenant.task("sync_access", revoked_serials=[])
    assert tenant.may_log_in()
    assert unclean(tenant.release()) == {}


@pytest.mark.parametrize("shape", ["baremetal", "gpu_slice"])
def test_a_granted_key_works_until_it_expires(tenant: Tenant, shape: str, tmp_path: Path) -> None:
    tenant.shape = shape
    key = tmp_path / "granted"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    tenant.task("provision")
    assert tenant.ssh("true", key=key).returncode != 0
    public = key.with_suffix(".pub").read_text().strip()
    for seconds in (4, 12, 36):  # the shortest life in which this machine gets the key there and logs in
        until = datetime.now(UTC) + timedelta(seconds=seconds)
        grant = {"grant_id": "gra_1", "public_key": public, "expires_at": until.isoformat()}
        tenant.task("sync_access", grants=[grant])
        let_in = tenant.ssh("true", key=key).returncode == 0
        if datetime.now(UTC) < until - timedelta(seconds=1):  # sshd counts in whole seconds
            break
    assert let_in
    time.sleep(max(0.0, (until - datetime.now(UTC)).total_seconds()) + 1.0)
    assert tenant.ssh("true", key=key).returncode != 0
    assert unclean(tenant.release()) == {}


def test_an_agent_restart_keeps_a_tenant_logged_in_and_able_to_log_in(tenant: Tenant, machine: LabMachine) -> None:
    tenant.task("provision")
    heartbeats = len(tenant.platform.heartbeats)
    machine.host.kill_agent()
    with tenant.platform.changed:
        assert tenant.platform.changed.wait_for(lambda: len(tenant.platform.heartbeats) > heartbeats, timeout=60)
    time.sleep(0.5)
    assert tenant.may_log_in()
    assert unclean(tenant.release()) == {}


def test_an_account_that_was_made_by_half_is_made_again(tenant: Tenant, machine: LabMachine) -> None:
    """As an agent leaves it that was killed during useradd."""
    machine.run(["useradd", "--no-create-home", "--no-user-group", "--uid", "1000", "gpu"])
    tenant.task("provision")
    assert tenant.ssh("pwd; id -un; id -gn").stdout.split() == ["/home/gpu", "gpu", "gpu"]
    assert unclean(tenant.release()) == {}


@pytest.mark.parametrize("pause", [0.01, 0.05, 0.2, 0.5])
def test_an_agent_killed_during_a_wipe_finishes_it_after_its_restart(
    tenant: Tenant, machine: LabMachine, pause: float
) -> None:
    tenant.task("provision")
    assert tenant.ssh("sudo touch /usr/local/left-behind").returncode == 0
    tenant.task("deprovision")
    task_id = tenant.submit("wipe")
    time.sleep(pause)
    machine.host.kill_agent()
    assert tenant.platform.wait_result(task_id)["status"] == "succeeded"
    assert unclean(tenant.task("verify_wipe")) == {}


def test_a_slice_is_a_machine_of_its_own_that_survives_the_agent(slice_tenant: Tenant, machine: LabMachine) -> None:
    tenant = slice_tenant
    tenant.task("provision", hostname="slice-a")
    assert tenant.ssh_address != machine.address
    assert tenant.ssh("hostname; sudo id -u").stdout.split() == ["slice-a", "0"]
    machine.host.kill_agent()
    assert tenant.may_log_in()
    assert tenant.task("provision", hostname="slice-a")  # found again, not made twice
    assert tenant.ssh("sudo touch /usr/left; sudo setsid -f sleep 999 >&- 2>&-").returncode == 0
    assert unclean(tenant.release()) == {}
    assert not tenant.may_log_in()
    assert list(machine.host.slices_dir.iterdir()) == []
    assert machine.run(["ip", "netns"]).stdout == ""


def test_a_slice_goes_on_while_the_agent_is_killed_and_is_found_again_and_released(
    slice_tenant: Tenant, machine: LabMachine
) -> None:
    """The slice is the same one all the time: not booted again, not provisioned again."""
    tenant = slice_tenant
    tenant.task("provision")
    assert tenant.ssh("setsid -f sleep 4444 >&- 2>&-").returncode == 0
    lives = "stat -c %Y /proc/1; pgrep -fx 'sleep 4444'; cat /proc/sys/kernel/random/boot_id /etc/machine-id"
    before = tenant.ssh(lives).stdout
    assert len(before.split()) == 4
    machine.host.kill_agent()
    machine.run(["systemctl", "stop", "gpuaas-agent"])
    assert machine.host.agent_pid() is None
    assert tenant.ssh(lives).stdout == before  # with no agent at all
    heartbeats = len(tenant.platform.heartbeats)
    machine.run(["systemctl", "start", "gpuaas-agent"])
    with tenant.platform.changed:
        assert tenant.platform.changed.wait_for(lambda: len(tenant.platform.heartbeats) > heartbeats, timeout=60)
    for _ in range(2):
        machine.host.kill_agent()
        assert tenant.ssh(lives).stdout == before
    tenant.task("sync_access", revoked_serials=[99])  # the agent knows it without a new provision
    assert tenant.ssh(lives).stdout == before
    assert unclean(tenant.release()) == {}
    assert not tenant.may_log_in()
    assert list(machine.host.slices_dir.iterdir()) == []
    assert machine.run(["pgrep", "-fx", "sleep 4444"], check=False).stdout == ""


def test_a_slice_that_was_only_stopped_is_not_clean(slice_tenant: Tenant) -> None:
    slice_tenant.task("provision")
    slice_tenant.task("deprovision")
    assert {"marker", "files"} <= set(unclean(slice_tenant.task("verify_wipe")))
    slice_tenant.task("wipe")
    assert unclean(slice_tenant.task("verify_wipe")) == {}


def test_a_link_planted_in_a_slice_does_not_lead_the_agent_into_the_host(
    slice_tenant: Tenant, machine: LabMachine
) -> None:
    tenant = slice_tenant
    tenant.task("provision")
    tenant.ssh("sudo umount /etc/gpuaas; sudo rm -rf /etc/gpuaas; sudo ln -s /etc/cron.d /etc/gpuaas")
    before = machine.run(["find", "/etc"]).stdout
    tenant.task("sync_access", revoked_serials=[99])
    assert machine.run(["find", "/etc"]).stdout == before
    assert unclean(tenant.release()) == {}


def test_two_slices_live_beside_each_other_and_give_their_addresses_back(
    platform: LittlePlatform, machine: LabMachine, tmp_path: Path
) -> None:
    tenants = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        tenants.append(Tenant(platform, machine, tmp_path / name, shape="gpu_slice"))
    for tenant in tenants:
        tenant.task("provision")
    assert len({tenant.ssh_address for tenant in tenants}) == 2
    assert all(tenant.may_log_in() for tenant in tenants)
    assert unclean(tenants[0].release()) == {}
    assert tenants[1].may_log_in()
    assert unclean(tenants[1].release()) == {}


@pytest.mark.parametrize("shape", ["baremetal", "gpu_slice"])
def test_an_allocation_survives_a_power_cut_of_its_host_and_is_released_clean(
    tenant: Tenant, machine: LabMachine, shape: str
) -> None:
    tenant.shape = shape
    tenant.task("provision")
    assert tenant.ssh("echo kept > ~/kept; sync").returncode == 0
    machine.host.power_cut()
    machine.host.power_on()
    machine.host.wait_ssh()
    deadline = time.monotonic() + BOOT_TIMEOUT
    while not tenant.may_log_in() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert tenant.ssh("cat ~/kept").stdout == "kept\n"
    assert unclean(tenant.release()) == {}


def test_a_tenant_who_deletes_the_agents_records_is_not_found_clean(tenant: Tenant, machine: LabMachine) -> None:
    """The last story of this host: its baseline cannot be trusted afterwards."""
    tenant.task("provision")
    heartbeats = len(tenant.platform.heartbeats)
    tenant.ssh("sudo sh -c 'rm /var/lib/gpuaas/agent/allocations/*; systemctl kill -s KILL gpuaas-agent'")
    with tenant.platform.changed:
        assert tenant.platform.changed.wait_for(lambda: len(tenant.platform.heartbeats) > heartbeats, timeout=60)
    tenant.task("deprovision")
    tenant.task("wipe")
    verdict = tenant.task("verify_wipe")
    assert verdict["clean"] is False
    assert unclean(verdict)["marker"] == ["there is no marker on record for this allocation"]
