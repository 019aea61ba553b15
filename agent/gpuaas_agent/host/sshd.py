"""Manages the host's SSH service: its trusted CAs, its users, and whether it answers.

`SshFiles` works on any root folder, so that hosts and slices get the same files.
"""

from __future__ import annotations

import base64
import contextlib
import os
import signal
import socket
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_agent import commands
from gpuaas_agent.commands import Deadline
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.specs import AccessSpec, Grant

DROP_IN = "etc/ssh/sshd_config.d/50-gpuaas.conf"
CLOSED = "etc/ssh/sshd_config.d/00-gpuaas-closed.conf"
HOST_KEY = "etc/ssh/ssh_host_ed25519_key"
_OURS = "etc/gpuaas/ssh"
REVOKED = f"{_OURS}/revoked.krl"
HOST_CERTIFICATE = f"{_OURS}/host_key-cert.pub"
ROOT = Path("/")
_PID_FILE = Path("/run/sshd.pid")

_DROP_IN_TEXT = """\
# Written by the node agent; a change here is undone.
TrustedUserCAKeys /etc/gpuaas/ssh/user_ca.pub
AuthorizedPrincipalsFile /etc/gpuaas/ssh/principals/%u
RevokedKeys /etc/gpuaas/ssh/revoked.krl
AuthorizedKeysFile .ssh/authorized_keys /etc/gpuaas/ssh/keys/%u
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin no
ExposeAuthInfo yes
HostKey /etc/ssh/ssh_host_ed25519_key
HostCertificate /etc/gpuaas/ssh/host_key-cert.pub
"""
CLOSED_TEXT = """\
# Written by the node agent between a release and the proof that the host is clean.
DenyUsers *
"""


class SshFiles:
    """The files below one root folder that control access."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def install(self) -> bool:
        """Write the configuration. Returns True if something changed, so that sshd must reload."""
        for folder in ("", "/principals", "/keys"):
            (self._root / (_OURS + folder)).mkdir(mode=0o755, parents=True, exist_ok=True)
        (self._root / DROP_IN).parent.mkdir(parents=True, exist_ok=True)
        changed = self._write(DROP_IN, _DROP_IN_TEXT)
        # sshd refuses every key if one of these files is missing.
        for name in ("revoked.krl", "user_ca.pub"):
            if not (self._root / _OURS / name).exists():
                self._write(f"{_OURS}/{name}", "")
        return changed

    def trust(self, user_ca_keys: Sequence[str]) -> None:
        self._write(f"{_OURS}/user_ca.pub", "".join(f"{key}\n" for key in user_ca_keys))

    def grant_access(self, access: AccessSpec, now: datetime) -> None:
        """Write keys first and the principal last, so that a login works only when everything is in place."""
        self.trust(access.user_ca_keys)
        self.write_grants(access.login_user, access.grants, now)
        self._write(f"{_OURS}/principals/{access.login_user}", f"{access.principal}\n")

    def write_grants(self, user: str, grants: Sequence[Grant], now: datetime) -> None:
        lines = [grant_line(grant) for grant in grants if grant.expires_at is None or grant.expires_at > now]
        self._write(f"{_OURS}/keys/{user}", "".join(lines))

    def revoke_serials(self, access: AccessSpec, deadline: Deadline) -> None:
        """Write a key revocation list for every CA that the allocation trusts."""
        target = self._root / _OURS / "revoked.krl"
        if not access.revoked_serials:
            self._write(f"{_OURS}/revoked.krl", "")
            return
        listing = "".join(f"serial: {serial}\n" for serial in access.revoked_serials)
        fresh = target.with_name(".revoked.new")
        authority = target.with_name(".authority.pub")
        for index, key in enumerate(access.user_ca_keys):
            authority.write_text(f"{key}\n")
            update = ["-u"] if index else []
            commands.run(
                ["ssh-keygen", "-q", "-k", *update, "-f", str(fresh), "-s", str(authority), "-"],
                deadline,
                stdin=listing.encode(),
            )
        authority.unlink(missing_ok=True)
        if access.user_ca_keys:
            fresh.chmod(0o644)
            os.replace(fresh, target)

    def revoke_access(self) -> None:
        """Remove every principal, every grant, and the trust in the CAs."""
        for folder in ("principals", "keys"):
            for path in (self._root / _OURS / folder).glob("*"):
                path.unlink()
        if (self._root / _OURS).exists():
            self.trust(())

    def deny_logins(self) -> None:
        """Deny all logins, even by keys that a tenant put into home folders."""
        self.revoke_access()
        self._write(CLOSED, CLOSED_TEXT)

    def allow_logins(self) -> bool:
        closed = (self._root / CLOSED).exists()
        (self._root / CLOSED).unlink(missing_ok=True)
        return closed

    def host_public_key(self) -> str:
        """Return the host's public key line; create the key pair if there is none."""
        public = self._root / (HOST_KEY + ".pub")
        with contextlib.suppress(FileNotFoundError):
            return " ".join(public.read_text().split()[:2])
        return self.renew_host_key()

    def renew_host_key(self) -> str:
        """Create a new host key: a tenant who was root may have copied the old one."""
        key = Ed25519PrivateKey.generate()
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.OpenSSH,
            serialization.NoEncryption(),
        )
        public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        (self._root / HOST_KEY).parent.mkdir(parents=True, exist_ok=True)
        self._write(HOST_KEY, private.decode(), 0o600)
        self._write(f"{HOST_KEY}.pub", public.decode() + "\n")
        return public.decode()

    def key_faults(self) -> list[str]:
        """Return mismatches between the host's private key, public key and certificate."""
        private = serialization.load_ssh_private_key((self._root / HOST_KEY).read_bytes(), password=None)
        encoding, form = serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
        public = private.public_key().public_bytes(encoding, form).decode()
        found = []
        if " ".join((self._root / f"{HOST_KEY}.pub").read_text().split()[:2]) != public:
            found.append(f"changed /{HOST_KEY}.pub: it does not match the private key")
        certificate = (self._root / HOST_CERTIFICATE).read_text().split()
        if len(certificate) < 2 or base64.b64decode(public.split()[1])[-32:] not in base64.b64decode(certificate[1]):
            found.append(f"changed /{HOST_CERTIFICATE}: it does not match the host's key")
        return found

    def write_host_certificate(self, certificate: str) -> bool:
        return self._write(HOST_CERTIFICATE, certificate.strip() + "\n")

    def _write(self, relative: str, text: str, mode: int = 0o644) -> bool:
        """Replace a file atomically. Returns False if it already has this content and mode."""
        path = self._root / relative
        with contextlib.suppress(OSError):
            same = path.read_bytes() == text.encode()  # a revocation list is not text
            if same and path.stat().st_mode & 0o7777 == mode:
                return False
        fresh = path.with_name(f".{path.name}.new")
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "w") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
        os.replace(fresh, path)
        return True


def grant_line(grant: Grant) -> str:
    options = ""
    if grant.expires_at is not None:
        options = f'expiry-time="{grant.expires_at.astimezone(UTC):%Y%m%d%H%M%SZ}" '
    return f"{options}{grant.public_key} {grant.grant_id}\n"


def check_configuration(deadline: Deadline) -> None:
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    done = commands.attempt(["/usr/sbin/sshd", "-t"], deadline)
    if done.returncode != 0:
        raise TaskFailure(
            "sshd_config_rejected",
            "sshd rejects its configuration: " + done.stderr.decode(errors="replace")[-300:],
            "Compare /etc/ssh with the host's image; the agent only adds its own drop-in.",
        )


def reload(deadline: Deadline) -> None:
    """Make sshd reload its configuration, and wait until it listens again.

    On SIGHUP sshd removes its pid file, restarts, and writes the file when it listens.
    """
    try:
        before = _PID_FILE.stat()
        pid = int(_PID_FILE.read_text())
        os.kill(pid, signal.SIGHUP)
    except (OSError, ValueError):
        commands.run(["systemctl", "restart", "ssh.service"], deadline)
        return
    limit = deadline.at_most(5.0)
    while limit.remaining() > 0:
        with contextlib.suppress(FileNotFoundError):
            now = _PID_FILE.stat()
            if (now.st_ino, now.st_mtime_ns) != (before.st_ino, before.st_mtime_ns):
                return
        time.sleep(0.002)
    commands.run(["systemctl", "restart", "ssh.service"], deadline)


def require_served(
    certificate: str, address: str, port: int, deadline: Deadline, command_prefix: Sequence[str] = ()
) -> None:
    """Connect to sshd as a client does until it presents this certificate."""
    wanted = certificate.split()[1]
    limit = deadline.at_most(10.0)
    scan = [*command_prefix, "ssh-keyscan", "-T", "3", "-c", "-t", "ed25519", "-p", str(port), "--", address]
    while True:
        shown = commands.attempt(scan, limit).stdout.decode(errors="replace")
        if wanted in shown.split():
            return
        if limit.remaining() <= 0.2:
            break
        time.sleep(0.1)
    raise TaskFailure(
        "host_certificate_not_served",
        f"sshd on {address}:{port} does not present its new certificate",
        "Look at HostCertificate in /etc/ssh; the agent only adds its own drop-in.",
        retryable=True,
    )


def wait_until_answering(address: str, port: int, deadline: Deadline) -> str:
    """Return the server's greeting. It polls often, because sshd starts within milliseconds."""
    problem: Exception | None = None
    while deadline.remaining() > 0:
        try:
            with socket.create_connection((address, port), timeout=1.0) as connection:
                greeting = connection.recv(256)
            if greeting.startswith(b"SSH-2.0-"):
                return greeting.split(b"\r")[0].decode(errors="replace")[:80]
        except OSError as caught:
            problem = caught
        time.sleep(0.005)
    raise TaskFailure(
        "ssh_not_answering",
        f"sshd does not answer on {address}:{port}: {problem}",
        "Look at `journalctl -u ssh` on the host.",
        retryable=True,
    )
