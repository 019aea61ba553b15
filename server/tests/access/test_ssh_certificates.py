"""SSH certificates, checked by the real ssh-keygen, and the public keys that are accepted."""

import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.pki import keys, ssh_ca
from gpuaas_server.pki.ssh_ca import CertificateRequest
from gpuaas_server.pki.ssh_keys import read_public_key
from tests_support.agents import ssh_line
from tests_support.parts import part

ALLOCATION = "alc_01jb2c3d4e5f6g7h8j9kamnpqr"


def line_of(key: object) -> str:
    public = key.public_key()  # type: ignore[attr-defined]
    return str(public.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode())


def request(line: str, minutes: int = 15, sources: tuple[str, ...] = ("192.0.2.1",)) -> CertificateRequest:
    now = utc_now()
    return CertificateRequest(
        public_key=read_public_key(line).key,
        serial=7,
        key_id=f"usr_x@{ALLOCATION}",
        principals=(ALLOCATION,),
        valid_after=now - ssh_ca.SSH_CLOCK_SLACK,
        valid_before=now + timedelta(minutes=minutes),
        sources=sources,
    )


def keygen(*argv: str) -> str:
    return subprocess.run([part("ssh-keygen"), *argv], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    "key",
    [
        Ed25519PrivateKey.generate(),
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP521R1()),
        rsa.generate_private_key(65537, 3072),
    ],
)
async def test_ssh_keygen_reads_a_user_certificate(platform: Platform, tmp_path: Path, key: object) -> None:
    authority = keys.signer(await keys.live_keys(platform, "ssh_user_ca"), utc_now())
    file = tmp_path / "id-cert.pub"
    file.write_text(ssh_ca.sign_user_certificate(authority, request(line_of(key))) + "\n")
    shown = keygen("-L", "-f", str(file))
    assert "user certificate" in shown
    assert "Serial: 7" in shown
    listed = [line.strip() for line in shown.splitlines()]
    principals, critical = listed.index("Principals:"), next(n for n, line in enumerate(listed) if "Critical" in line)
    assert listed[principals + 1 : critical] == [ALLOCATION]
    assert listed[listed.index("Extensions:") + 1 :] == ["permit-port-forwarding", "permit-pty"]
    ca = tmp_path / "ca.pub"
    ca.write_text(line_of(authority.private) + "\n")
    assert keygen("-l", "-f", str(ca)).split()[1] in shown


async def test_ssh_keygen_reads_a_host_certificate(platform: Platform, tmp_path: Path) -> None:
    authority = keys.signer(await keys.live_keys(platform, "ssh_host_ca"), utc_now())
    file = tmp_path / "host-cert.pub"
    file.write_text(ssh_ca.sign_host_certificate(authority, request(ssh_line())) + "\n")
    assert "host certificate" in keygen("-L", "-f", str(file))


async def test_a_user_certificate_never_lives_longer_than_an_hour(platform: Platform) -> None:
    authority = (await keys.live_keys(platform, "ssh_user_ca"))[0]
    ssh_ca.sign_user_certificate(authority, request(ssh_line(), minutes=60))
    with pytest.raises(ValueError, match="an hour"):
        ssh_ca.sign_user_certificate(authority, request(ssh_line(), minutes=62))


async def test_a_user_certificate_without_a_source_is_signed_only_for_everywhere(platform: Platform) -> None:
    authority = (await keys.live_keys(platform, "ssh_user_ca"))[0]
    unbound = request(ssh_line(), sources=())
    with pytest.raises(ValueError, match="from everywhere"):
        ssh_ca.sign_user_certificate(authority, unbound)
    ssh_ca.sign_user_certificate(authority, replace(unbound, from_everywhere=True))


def test_the_fingerprint_is_the_one_people_know(tmp_path: Path) -> None:
    (tmp_path / "key.pub").write_text(line := ssh_line())
    assert read_public_key(line + " me@laptop").fingerprint == keygen("-l", "-f", str(tmp_path / "key.pub")).split()[1]


@pytest.mark.parametrize(
    "line",
    [
        line_of(rsa.generate_private_key(65537, 2048)),
        "ssh-dss " + line_of(Ed25519PrivateKey.generate()).split()[1],
        'command="id" ' + ssh_line(),
        ssh_line() + "\n" + ssh_line(),
        "ssh-ed25519 AAAA",
        "ssh-ed25519 !!!!",
        "ssh-rsa " + ssh_line().split()[1],
        "ssh-ed25519",
        "",
    ],
    ids=["short-rsa", "dss", "with-options", "two-lines", "no-key", "no-base64", "other-kind", "kind-only", "empty"],
)
def test_weak_odd_and_broken_keys_are_refused(line: str) -> None:
    with pytest.raises(Problem, match="ssh_key_refused"):
        read_public_key(line)


def test_dsa_keys_are_refused() -> None:
    with pytest.raises(Problem, match="ssh_key_refused"):
        read_public_key("ssh-dss AAAAB3NzaC1kc3MAAACBAP" + "A" * 60)
