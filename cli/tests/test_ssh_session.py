"""How ssh is started: what it is told, what it leaves behind, whose exit code counts."""

import os
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gpuaas_cli.failures import CommandFailed
from gpuaas_cli.ssh_session import ephemeral_key, public_key_of, run_ssh, ssh_arguments
from gpuaas_sdk import SshCertificate, SshTarget

ALLOCATION = "alc_01m7f6xnrfe0brcs8qc0d8gk8t"
HOST_CA = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHostCaHostCaHostCaHostCaHostCaHostCaHost host-ca"


def issued() -> SshCertificate:
    return SshCertificate(
        certificate="ssh-ed25519-cert-v01@openssh.com AAAA",
        ssh=SshTarget(address="10.1.2.3", port=2222, user="gpu"),
        host_ca_keys=[HOST_CA],
    )


def test_the_key_is_private_and_gone_afterwards() -> None:
    with ephemeral_key() as key:
        assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(key.stat().st_mode) == 0o600
        assert public_key_of(key).startswith("ssh-ed25519 ")
    assert not key.parent.exists()


def test_ssh_understands_what_it_is_told() -> None:
    with ephemeral_key() as key:
        arguments = ssh_arguments(key, ALLOCATION, issued(), [])
        shown = subprocess.run([arguments[0], "-G", *arguments[1:]], capture_output=True, text=True, check=True)
        settings = dict(line.split(" ", 1) for line in shown.stdout.splitlines() if " " in line)
        known_hosts = key.with_name("known_hosts").read_text()
    assert settings["hostname"] == "10.1.2.3"
    assert settings["port"] == "2222"
    assert settings["user"] == "gpu"
    assert settings["hostkeyalias"] == ALLOCATION
    assert settings["stricthostkeychecking"] == "true"
    assert settings["identitiesonly"] == "yes"
    assert settings["certificatefile"].endswith("/key-cert.pub")
    assert settings["userknownhostsfile"].endswith("/known_hosts")
    assert known_hosts == f"@cert-authority * {HOST_CA}\n"


def test_the_remote_command_comes_last() -> None:
    with ephemeral_key() as key:
        arguments = ssh_arguments(key, ALLOCATION, issued(), ["nvidia-smi", "-L"])
    assert arguments[-4:] == ["--", "10.1.2.3", "nvidia-smi", "-L"]


@pytest.mark.parametrize(
    "target",
    [
        SshTarget(address="-oProxyCommand=touch /tmp/owned", port=22, user="gpu"),
        SshTarget(address="10.1.2.3\n@cert-authority * ssh-ed25519 AAAA", port=22, user="gpu"),
        SshTarget(address="fe80::1%\n", port=22, user="gpu"),
        SshTarget(address="10.1.2.3", port=22, user="-oProxyCommand=id"),
        SshTarget(address="10.1.2.3", port=22, user="gpu\x1b[2J"),
        SshTarget(address="10.1.2.3", port=0, user="gpu"),
    ],
)
def test_a_target_that_is_none_never_reaches_ssh(target: SshTarget) -> None:
    with ephemeral_key() as key, pytest.raises(CommandFailed, match="SSH target"):
        ssh_arguments(key, ALLOCATION, replace(issued(), ssh=target), [])


def test_the_exit_code_of_ssh_is_ours() -> None:
    assert run_ssh(["sh", "-c", "exit 7"]) == 7


def test_death_by_signal_is_reported_as_a_shell_does() -> None:
    assert run_ssh(["sh", "-c", "kill -TERM $$"]) == 128 + signal.SIGTERM


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_when_a_signal_ends_the_session(tmp_path: Path, number: signal.Signals) -> None:
    program = (
        "from gpuaas_cli.ssh_session import ephemeral_key, run_ssh\n"
        "with ephemeral_key():\n"
        "    code = run_ssh(['sh', '-c', 'trap \"exit 3\" INT TERM; echo ready; while :; do sleep 0.05; done'])\n"
        "raise SystemExit(code)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    session = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment, start_new_session=True
    )
    assert session.stdout is not None
    assert session.stdout.readline() == b"ready\n"
    assert list(tmp_path.iterdir())
    if number is signal.SIGINT:
        os.killpg(session.pid, number)  # a terminal sends Ctrl-C to the whole group
    else:
        session.send_signal(number)
    assert session.wait(60) == 3
    time.sleep(0.05)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_when_it_ends_before_ssh_starts(tmp_path: Path) -> None:
    program = (
        "import time\n"
        "from gpuaas_cli.ssh_session import ephemeral_key\n"
        "with ephemeral_key():\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(30)\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    session = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment)
    assert session.stdout is not None
    assert session.stdout.readline() == b"ready\n"
    session.send_signal(signal.SIGTERM)
    assert session.wait(60) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []
