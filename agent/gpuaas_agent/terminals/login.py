"""Logs in to an allocation for a terminal: by SSH, with a key and a certificate for this one login.

The agent itself created the host key, so that a man in the middle is not possible.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_agent import durable
from gpuaas_agent.drivers.seam import SshTarget

_CONNECT_SECONDS = 10


@dataclass(frozen=True)
class LoginKey:
    private: Ed25519PrivateKey

    @staticmethod
    def fresh() -> LoginKey:
        return LoginKey(Ed25519PrivateKey.generate())

    @property
    def public_line(self) -> str:
        public = self.private.public_key()
        return public.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()

    def private_text(self) -> str:
        return self.private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
        ).decode()


@dataclass(frozen=True)
class LoginFiles:
    """The files that `ssh` reads at its start."""

    folder: Path

    def write(self, key: LoginKey, certificate: str, ssh_target: SshTarget, allocation_id: str) -> None:
        durable.make_private_folder(self.folder)
        for name, text in (
            ("key", key.private_text()),
            ("key-cert.pub", certificate.strip() + "\n"),
            ("known_hosts", f"{allocation_id} {ssh_target.host_public_key}\n"),
        ):
            path = self.folder / name
            path.touch(mode=0o600)
            path.write_text(text)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def command(self, ssh_target: SshTarget, allocation_id: str) -> list[str]:
        """Return the ssh command. It reads no configuration of the host or of a tenant, and forwards nothing."""
        options = {
            "BatchMode": "yes",
            "CertificateFile": str(self.folder / "key-cert.pub"),
            "ConnectTimeout": str(_CONNECT_SECONDS),
            "EscapeChar": "none",
            "ForwardAgent": "no",
            "GlobalKnownHostsFile": "/dev/null",
            "HostKeyAlgorithms": "ssh-ed25519",
            "HostKeyAlias": allocation_id,
            "IdentitiesOnly": "yes",
            "IdentityFile": str(self.folder / "key"),
            "LogLevel": "ERROR",
            "PreferredAuthentications": "publickey",
            # The page shows UTF-8. Without this, a shell on a host with no locale erases bytes, not characters.
            "SetEnv": "LC_CTYPE=C.UTF-8",
            "StrictHostKeyChecking": "yes",
            "UpdateHostKeys": "no",
            "UserKnownHostsFile": str(self.folder / "known_hosts"),
        }
        settings = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        where = ["-p", str(ssh_target.port), "-l", ssh_target.user, "--", ssh_target.address]
        return [*ssh_target.command_prefix, "ssh", "-tt", "-a", "-x", "-F", "none", *settings, *where]
