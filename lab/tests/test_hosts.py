"""Hosts of a fleet: their network, their files, their hardware, their power."""

import base64
import contextlib
import json
import socket
import threading
import time

import pytest

from gpuaas_lab import Fleet, Host, LabError, cgroups

pytestmark = pytest.mark.lab
HANG = 60.0  # seconds, after which nobody waits any more


def test_hosts_boot_with_names_and_addresses_of_their_own(fleet: Fleet) -> None:
    names = [host.run(["hostname"]).stdout.strip() for host in fleet.hosts]
    machine_ids = {host.read_file("/etc/machine-id") for host in fleet.hosts}
    host_keys = {host.read_file("/etc/ssh/ssh_host_ed25519_key.pub") for host in fleet.hosts}
    assert names == [host.name for host in fleet.hosts]
    assert len(machine_ids) == len(host_keys) == len(fleet.hosts)
    assert all(host.address.startswith(f"10.77.{fleet.number}.") for host in fleet.hosts)


def test_a_booted_host_has_no_failed_unit(fleet: Fleet) -> None:
    state = fleet.hosts[0].run(["systemctl", "is-system-running", "--wait"], check=False).stdout.strip()
    failed = fleet.hosts[0].run(["systemctl", "--failed", "--no-legend", "--plain"]).stdout
    assert (state, failed) == ("running", "")


def test_a_host_reaches_the_sshd_of_its_peer(fleet: Fleet) -> None:
    first, second = fleet.hosts[:2]
    probe = f"head -c 4 < /dev/tcp/{second.address}/22"
    assert first.run(["bash", "-c", probe]).stdout == "SSH-"


def test_a_host_reaches_a_server_at_the_gateway(fleet: Fleet) -> None:
    with socket.create_server((fleet.gateway, 0)) as server:
        port = server.getsockname()[1]
        answer = threading.Thread(target=_answer_once, args=(server, b"platform"))
        answer.start()
        heard = fleet.hosts[0].run(["bash", "-c", f"cat < /dev/tcp/{fleet.gateway}/{port}"])
        answer.join(HANG)
    assert heard.stdout == "platform"


def _answer_once(server: socket.socket, answer: bytes) -> None:
    server.settimeout(HANG)
    connection, _ = server.accept()
    with connection:
        connection.sendall(answer)


def test_a_host_has_no_way_out_of_its_fleet(fleet: Fleet) -> None:
    tried = fleet.hosts[0].run(["timeout", "0.3", "bash", "-c", ": < /dev/tcp/192.0.2.1/80"], check=False)
    assert tried.returncode != 0


def test_a_host_can_be_limited_to_a_share_of_a_core(fleet: Fleet) -> None:
    host = fleet.hosts[0]
    busy = "import time; end = time.monotonic() + 1.0\nwhile time.monotonic() < end: pass\nprint(time.process_time())"
    host.limit_cpu(0.1)
    used = float(host.run(["python3", "-c", busy]).stdout)
    host.limit_cpu(1.0)
    assert used < 0.3


def test_the_shared_image_accepts_no_login(fleet: Fleet) -> None:
    host = fleet.hosts[0]
    assert host.run(["sh", "-c", "ls -A /root/.ssh /home"], check=False).stdout.split() == ["/home:", "/root/.ssh:"]
    passwords = [line.split(":")[1] for line in host.read_file("/etc/shadow").splitlines()]
    assert not [password for password in passwords if password not in ("*", "!", "!*")]
    assert host.run(["sh", "-c", "ls /slice-base/etc/ssh/ssh_host_* 2>/dev/null"], check=False).stdout == ""
    assert host.read_file("/slice-base/etc/machine-id") == ""


def test_a_file_is_written_with_its_mode_and_seen_on_the_disk_from_outside(fleet: Fleet) -> None:
    host = fleet.hosts[0]
    host.write_file("/srv/deep/secret's", "täglich\n", 0o600)
    assert host.read_file("/srv/deep/secret's") == "täglich\n"
    outside = host.upper / "srv/deep/secret's"
    assert outside.read_text() == "täglich\n"
    assert outside.stat().st_mode & 0o777 == 0o600
    host.run(["rm", "-r", "/srv/deep"])
    assert not outside.exists()


def test_a_failed_command_says_what_it_said(fleet: Fleet) -> None:
    with pytest.raises(LabError, match="no such thing"):
        fleet.hosts[0].run(["sh", "-c", "echo no such thing >&2; exit 3"])
    assert fleet.hosts[0].run(["sh", "-c", "exit 3"], check=False).returncode == 3
    assert fleet.hosts[0].run(["tr", "a-z", "A-Z"], input="abc").stdout == "ABC"


def test_a_command_that_takes_too_long_is_ended_on_the_host(fleet: Fleet) -> None:
    host = fleet.hosts[0]
    with pytest.raises(LabError):
        host.run(["sleep", "333"], timeout=0.5)
    deadline = time.monotonic() + HANG
    while host.run(["pgrep", "-fx", "sleep 333"], check=False).returncode == 0:
        assert time.monotonic() < deadline, "the command still runs on the host"
        time.sleep(0.1)


def test_the_node_agent_finds_the_pretended_gpus(fleet: Fleet) -> None:
    discover = "import json; from gpuaas_agent.discovery import discover; from pathlib import Path; "
    discover += "print(json.dumps(discover(Path('/var/lib/gpuaas/hw'))))"
    found = json.loads(fleet.hosts[0].run(["env", "PYTHONPATH=/opt/gpuaas/agent", "python3", "-c", discover]).stdout)
    assert len(found["slots"]) == 8
    assert found["warnings"] == []
    nodes = fleet.hosts[0].run(["sh", "-c", "stat -c '%F %t:%T' /dev/nvidia[0-7]"]).stdout.splitlines()
    assert nodes == [f"character special file c3:{index}" for index in range(8)]


def test_the_agents_code_cannot_be_changed_from_a_host(fleet: Fleet) -> None:
    tried = fleet.hosts[0].run(["touch", "/opt/gpuaas/agent/x"], check=False)
    assert "Read-only file system" in tried.stderr


def test_a_power_cut_is_sudden_and_power_on_brings_the_same_disk_and_address(fleet: Fleet) -> None:
    host, peer = fleet.hosts[1], fleet.hosts[0]
    boot = host.run(["stat", "-c", "%Y", "/proc/1"]).stdout
    host.write_file("/srv/kept", "kept\n")
    host.write_file("/run/lost", "lost\n")
    host.run(["sync"])
    connection = _connection_to(host)
    host.power_cut()
    with pytest.raises(TimeoutError):
        connection.recv(1)  # no goodbye either
    connection.close()
    with pytest.raises(LabError, match="off"):
        host.run(["true"])
    with pytest.raises(OSError, match=r"timed out|unreachable|No route"):
        socket.create_connection((host.address, 22), timeout=0.5)
    assert (host.upper / "srv/kept").read_text() == "kept\n"
    host.power_on()
    host.wait_ssh()
    assert host.read_file("/srv/kept") == "kept\n"
    assert host.run(["test", "-e", "/run/lost"], check=False).returncode == 1
    assert host.run(["stat", "-c", "%Y", "/proc/1"]).stdout != boot
    assert peer.run(["bash", "-c", f"head -c 4 < /dev/tcp/{host.address}/22"]).stdout == "SSH-"


@pytest.mark.parametrize("how", [["systemctl", "reboot"], ["reboot", "--force", "--force"]])
def test_a_host_that_restarts_itself_comes_back_with_its_disk_and_address_and_nothing_from_memory(
    fleet: Fleet, how: list[str]
) -> None:
    host, peer = fleet.hosts[1], fleet.hosts[0]
    before = _boot_id(host)
    host.write_file("/srv/kept", "kept\n")
    host.write_file("/run/lost", "lost\n")
    host.run(["nft", "add", "table", "inet", "lost"])
    host.run(["ip", "route", "add", "192.0.2.0/24", "via", fleet.gateway])
    host.run(["sync"])
    host.run(how, check=False)
    _wait_until_restarted(host, before)
    host.wait_ssh()
    assert host.read_file("/srv/kept") == "kept\n"
    assert host.run(["test", "-e", "/run/lost"], check=False).returncode == 1
    assert host.run(["nft", "list", "ruleset"]).stdout == ""
    assert "192.0.2" not in host.run(["ip", "route"]).stdout
    assert peer.run(["bash", "-c", f"head -c 4 < /dev/tcp/{host.address}/22"]).stdout == "SSH-"


def test_commands_that_run_while_a_host_restarts_itself_do_not_delay_it(fleet: Fleet) -> None:
    host = fleet.hosts[1]
    before = _boot_id(host)
    running = [threading.Thread(target=_run_until_it_is_killed, args=(host,)) for _ in range(3)]
    for thread in running:
        thread.start()
    _wait_for_processes(host, "sleep 444", 3)
    host.run(["systemctl", "reboot"], check=False)
    _wait_until_restarted(host, before)
    for thread in running:
        thread.join(HANG)
        assert not thread.is_alive()
    host.wait_ssh()


def _run_until_it_is_killed(host: Host) -> None:
    with contextlib.suppress(LabError):
        host.run(["sleep", "444"], timeout=4 * HANG)


def _wait_for_processes(host: Host, command: str, count: int) -> None:
    deadline = time.monotonic() + HANG
    while len(host.run(["pgrep", "-fx", command], check=False).stdout.split()) < count:
        assert time.monotonic() < deadline, f"{command} does not start"
        time.sleep(0.05)


@pytest.mark.parametrize("pause", [0.0, 0.1, 0.3, 0.8])
def test_a_power_cut_while_a_host_restarts_itself_leaves_it_off_until_it_is_powered_on(
    fleet: Fleet, pause: float
) -> None:
    host = fleet.hosts[1]
    host.run(["reboot", "--force", "--force"], check=False)
    time.sleep(pause)
    host.power_cut()
    assert not host.is_on
    assert cgroups.members(f"glab-{fleet.number}-2") == set(), "something could start it again"
    host.power_on()
    host.wait_ssh()


def _boot_id(host: Host) -> str:
    return host.read_file("/proc/sys/kernel/random/boot_id").strip()


def _wait_until_restarted(host: Host, before: str) -> None:
    deadline = time.monotonic() + HANG
    while time.monotonic() < deadline:
        with contextlib.suppress(LabError):
            if _boot_id(host) != before:
                return
        time.sleep(0.05)
    pytest.fail(f"{host.name} does not come back: {host.console}")


def _connection_to(host: Host) -> socket.socket:
    connection = socket.create_connection((host.address, 22), timeout=HANG)
    connection.recv(255)
    connection.settimeout(0.5)
    return connection


def test_the_agent_starts_with_its_settings_and_comes_back_after_kill_9(fleet: Fleet) -> None:
    host = fleet.hosts[0]
    host.start_agent(_bundle_of_a_silent_platform(fleet), {"workers": 3})
    settings = json.loads(host.read_file("/etc/gpuaas/agent.json"))
    assert settings["workers"] == 3
    assert [address.split("/")[0] for address in settings["slice_addresses"]] == host.slice_addresses
    modes = host.run(["stat", "-c", "%a", "/etc/gpuaas/agent.json", "/etc/gpuaas/enrolment"]).stdout
    assert modes.split() == ["600", "600"]
    _wait_until_the_agent_tries(host)
    killed = host.agent_pid()
    host.kill_agent()
    deadline = time.monotonic() + HANG
    while host.agent_pid() in (None, killed):
        assert time.monotonic() < deadline, "the agent does not come back"
        time.sleep(0.1)
    host.run(["systemctl", "stop", "gpuaas-agent"])


def _bundle_of_a_silent_platform(fleet: Fleet) -> str:
    words = {"urls": [f"https://{fleet.gateway}:9"], "ca_sha256": "0" * 64, "token": "t"}
    return "gpuaas-enrol.v1." + base64.urlsafe_b64encode(json.dumps(words).encode()).decode().rstrip("=")


def _wait_until_the_agent_tries(host: Host) -> None:
    deadline = time.monotonic() + HANG
    while "enrolment_unreachable" not in host.agent_log():
        assert time.monotonic() < deadline, f"the agent does not try to enrol: {host.agent_log()}"
        time.sleep(0.1)
