"""Hanging up on who came in by a way that was taken back, and on nobody else."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import SSHCertificateBuilder, SSHCertificateType

from gpuaas_agent.host import sessions
from gpuaas_agent.host.processes import Process
from gpuaas_agent.host.sessions import SessionScope


def key_text(key: Ed25519PrivateKey) -> str:
    encoding = serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    return key.public_key().public_bytes(*encoding).decode()


def certificate(serial: int, key: Ed25519PrivateKey | RSAPrivateKey | EllipticCurvePrivateKey | None = None) -> str:
    now = datetime.now(UTC)
    public = (key or Ed25519PrivateKey.generate()).public_key()
    builder = SSHCertificateBuilder().public_key(public).serial(serial)
    builder = builder.type(SSHCertificateType.USER).key_id(b"someone").valid_principals([b"alc"])
    builder = builder.valid_after(int(now.timestamp())).valid_before(int((now + timedelta(hours=1)).timestamp()))
    return builder.sign(Ed25519PrivateKey.generate()).public_bytes().decode()


def test_a_certificate_is_known_by_its_serial_and_a_key_by_itself() -> None:
    mine = key_text(Ed25519PrivateKey.generate())
    assert sessions.is_authenticated_by(f"publickey {certificate(7)}", {7}, ())
    assert not sessions.is_authenticated_by(f"publickey {certificate(8)}", {7}, ())
    assert sessions.is_authenticated_by(f"publickey {mine}", (), [f"{mine} a comment"])
    assert not sessions.is_authenticated_by(f"publickey {key_text(Ed25519PrivateKey.generate())}", (), [mine])


@pytest.mark.parametrize(
    "key",
    [Ed25519PrivateKey.generate(), rsa.generate_private_key(65537, 2048)]
    + [ec.generate_private_key(curve) for curve in (ec.SECP256R1(), ec.SECP384R1(), ec.SECP521R1())],
    ids=["ed25519", "rsa", "p256", "p384", "p521"],
)
def test_the_serial_is_read_from_certificates_of_every_kind_of_key(
    key: Ed25519PrivateKey | RSAPrivateKey | EllipticCurvePrivateKey,
) -> None:
    assert sessions.serial_of(certificate(2**63 + 5, key)) == 2**63 + 5


@pytest.mark.parametrize(
    "line", ["", "password", "publickey", "publickey ssh-ed25519", "publickey ssh-ed25519-cert-v01@openssh.com AAAA"]
)
def test_a_line_that_says_nothing_ends_nothing(line: str) -> None:
    assert not sessions.is_authenticated_by(line, {0, 7}, ["ssh-ed25519 AAAA"])


def process(pid: int, parent: int, command: str, name: str = "sshd") -> Process:
    return Process(pid, 1, parent, False, 0, "/usr/sbin/sshd", command, "", name)


def test_the_connection_is_hung_up_and_the_listener_lives() -> None:
    listener = process(10, 1, "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups")
    monitor, served = process(11, 10, "sshd: gpu [priv]"), process(12, 11, "sshd: gpu@pts/0")
    shell, job = process(13, 12, "-bash", "bash"), process(14, 13, "sleep 9", "sleep")
    adopted = process(15, 1, "sleep 9", "sleep")
    odd = process(16, 10, "sh", "sh")
    everything = [listener, monitor, served, shell, job, adopted, odd]
    assert sessions.connection_of(job, everything) == 12
    assert sessions.connection_of(adopted, everything) is None  # left in the background: the tenant's to keep
    assert sessions.connection_of(odd, everything) is None


def session(*served: Process, user: str = "gpu", group: str = "") -> list[Process]:
    """A connection, from the listener down to what it runs."""
    listener = process(10, 1, "sshd: /usr/sbin/sshd -D [listener] 0 of 10-100 startups")
    monitor = process(11, 10, f"sshd: {user} [priv]")
    connection = Process(12, 1, 11, False, 1000, "/usr/sbin/sshd", f"sshd: {user}@pts/0", group, "sshd")
    return [listener, monitor, connection, *served]


def program(pid: int, parent: int, command: str = "-bash", name: str = "bash") -> Process:
    return Process(pid, 1, parent, False, 1000, f"/usr/bin/{name}", command, "", name)


def silent(processes: list[Process], *told: int, scope: SessionScope | None = None) -> list[int]:
    found = sessions.unidentified_connections(processes, scope or SessionScope("gpu"), lambda pid: pid in told)
    return [one.pid for one in found]


def test_a_connection_of_which_nothing_says_how_it_came_is_silent() -> None:
    shell, job = program(13, 12), program(14, 13, "sleep 9", "sleep")
    assert silent(session(shell, job)) == [12]
    assert silent(session(shell, job), 13) == []
    assert silent(session(shell, job), 14) == []
    assert silent([*session(shell), program(15, 1)], 15) == [12]  # what was left in the background says nothing for it


def test_a_connection_that_runs_nothing_or_has_only_begun_to_is_not_silent() -> None:
    begun = Process(13, 1, 12, False, 1000, "/usr/sbin/sshd", "sshd: gpu@pts/0", "", "sshd")
    assert silent(session()) == []  # it forwards ports
    assert silent(session(begun)) == []


def test_only_connections_of_the_user_and_of_the_allocation_are_silent() -> None:
    shell = program(13, 12)
    assert silent(session(shell, user="operator")) == []
    inside = SessionScope("gpu", "sl-1")
    assert silent(session(shell, group="/system.slice/gpuaas-slice-sl-1.service/x"), scope=inside) == [12]
    assert silent(session(shell, group="/system.slice/gpuaas-slice-sl-2.service/x"), scope=inside) == []


def test_a_tenants_program_named_sshd_hides_nothing() -> None:
    shell = program(13, 12)
    false = Process(14, 1, 13, False, 1000, "/home/gpu/sshd", "sshd: gpu@pts/9", "", "sshd")
    job = program(15, 14, "sleep 9", "sleep")
    processes = session(shell, false, job)
    assert sessions.connection_of(job, processes) == 12
    assert silent(processes) == [12]


@pytest.mark.parametrize("kind", ["file", "fifo", "device", "link", "missing"])
def test_what_sshd_told_is_read_and_a_tenant_who_points_us_elsewhere_keeps_nobody_waiting(
    tmp_path: Path, kind: str
) -> None:
    told, line = tmp_path / "told", f"publickey {certificate(7)}"
    if kind == "file":
        told.write_text(f"{line}\n")
    elif kind == "fifo":
        os.mkfifo(told)
    elif kind == "device":
        told = Path("/dev/zero")
    elif kind == "link":
        (tmp_path / "real").write_text(f"{line}\n")
        told.symlink_to(tmp_path / "real")
    waiting = [sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()"]
    with subprocess.Popen(
        waiting, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={"SSH_USER_AUTH": str(told)}
    ) as stranger:
        assert stranger.stdout is not None
        assert stranger.stdout.readline() == b"up\n"
        assert sessions.auth_info_lines(stranger.pid) == ([line] if kind == "file" else [])
        assert sessions.end_sessions({7}, ()) == 0  # it is under no sshd
        assert stranger.poll() is None
        stranger.communicate(timeout=10)
