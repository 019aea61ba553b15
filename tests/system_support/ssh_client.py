"""A person's SSH client: a key of their own, a certificate from the API, and the system's ssh."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_lab import Host
from gpuaas_sdk import Client, SshCertificate


@dataclass
class SshClient:
    """Keeps the last certificate, so that a test can try it again after its revocation."""

    client: Client
    project_id: str
    allocation_id: str
    directory: Path
    address: str = ""
    user: str = ""
    port: int = 22
    options: list[str] = field(default_factory=list)

    @property
    def key(self) -> Path:
        return self.directory / f"{self.allocation_id}.key"

    def make_key(self) -> str:
        if not self.key.exists():
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.key)]
            subprocess.run(command, check=True, timeout=20)
        return self.key.with_suffix(".key.pub").read_text().strip()

    def get_certificate(self) -> None:
        self.use(self.client.ssh_access.create_certificate(self.project_id, self.allocation_id, self.make_key()))

    def use(self, issued: SshCertificate) -> None:
        (self.directory / f"{self.allocation_id}.key-cert.pub").write_text(issued.certificate + "\n")
        known = self.directory / f"{self.allocation_id}.known"
        known.write_text(issued.known_hosts_line + "\n")
        self.address, self.user, self.port = issued.ssh.address, issued.ssh.user, issued.ssh.port
        self.options = ["-o", f"HostKeyAlias={self.allocation_id}", "-o", f"UserKnownHostsFile={known}"]

    def take_private_key(self, clear: bytes) -> None:
        """Use this key without a certificate; the earlier certificate named the host's CA."""
        (self.directory / f"{self.allocation_id}.key-cert.pub").unlink(missing_ok=True)
        for path in (self.key, self.key.with_suffix(".key.pub")):
            path.unlink(missing_ok=True)
        self.key.touch(mode=0o600)
        self.key.write_bytes(clear)

    def run(self, command: str = "id -un", seconds: int = 30) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._ssh(command, seconds),
            capture_output=True,
            text=True,
            timeout=seconds + 30,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def run_on(self, host: Host, command: str = "id -un") -> subprocess.CompletedProcess[str]:
        """Copy the key and all that belongs to it to another machine, and use it there."""
        for path in self.directory.glob(f"{self.allocation_id}.*"):
            host.write_file(str(path), path.read_text(), mode=0o600)
        return host.run(self._ssh(command, 30), check=False)

    @contextmanager
    def open_session(self, seconds: int = 120) -> Iterator[subprocess.Popen[str]]:
        """Open a session that stays open until it is ended from outside."""
        command = self._ssh(f"echo in; exec sleep {seconds}", 30)
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as session:
            try:
                assert session.stdout is not None
                assert session.stdout.readline() == "in\n"
                yield session
            finally:
                session.kill()

    def shell(self) -> list[str]:
        """Return the command of an interactive session."""
        return [*self._ssh("", 15)[:-1], "-tt"]

    def _ssh(self, command: str, seconds: int) -> list[str]:
        argv = ["ssh", "-F", "none", "-i", str(self.key), "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes"]
        argv += ["-o", "IdentitiesOnly=yes", "-o", f"ConnectTimeout={seconds}", "-p", str(self.port), *self.options]
        return [*argv, f"{self.user}@{self.address}", command]

    @property
    def can_log_in(self) -> bool:
        return self.run("true").returncode == 0
