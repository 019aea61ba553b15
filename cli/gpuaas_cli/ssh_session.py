"""Runs the system's ssh with a key that exists only for the session, and a certificate for it.

The platform's host CA identifies the host: no unknown host key is accepted.
"""

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from gpuaas_cli.failures import CommandFailed
from gpuaas_sdk import SshCertificate
from gpuaas_sdk.host_text import UnsafeTarget, check_target

_ENDING = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def ephemeral_key() -> Iterator[Path]:
    """Create an ed25519 key in a private directory, which is removed when the block ends."""
    for program in ("ssh", "ssh-keygen"):
        if shutil.which(program) is None:
            raise CommandFailed("ssh_missing", f"{program} is not installed.", "Install the OpenSSH client.")
    with _handling(_leave, *_ENDING), tempfile.TemporaryDirectory(prefix="gpuaas-ssh-") as directory:  # mode 0700
        key = Path(directory) / "key"
        made = subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "gpuaas", "-f", str(key)],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode != 0:
            raise CommandFailed("ssh_keygen_failed", f"ssh-keygen failed: {made.stderr.strip()}")
        yield key


def public_key_of(key: Path) -> str:
    return key.with_name("key.pub").read_text().strip()


def ssh_arguments(key: Path, allocation_id: str, issued: SshCertificate, remote_command: Sequence[str]) -> list[str]:
    """Write the certificate and known_hosts beside the key, and return the arguments for ssh."""
    try:
        check_target(issued.ssh)
    except UnsafeTarget as error:
        raise CommandFailed("ssh_target_refused", f"The platform sent an invalid SSH target: {error}.") from error
    certificate = key.with_name("key-cert.pub")
    certificate.write_text(issued.certificate.strip() + "\n")
    known_hosts = key.with_name("known_hosts")
    known_hosts.write_text("".join(f"@cert-authority * {ca.strip()}\n" for ca in issued.host_ca_keys))
    options = {
        "IdentityFile": f'"{key}"',
        "CertificateFile": f'"{certificate}"',
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "HostKeyAlias": allocation_id,
        "UserKnownHostsFile": f'"{known_hosts}"',
        "GlobalKnownHostsFile": "/dev/null",
        "StrictHostKeyChecking": "yes",
        "UpdateHostKeys": "no",
        "PreferredAuthentications": "publickey",
        "ControlPath": "none",
    }
    flags = [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
    target = ["-p", str(issued.ssh.port), "-l", issued.ssh.user, "--", issued.ssh.address]
    return ["ssh", *flags, *target, *remote_command]


def run_ssh(arguments: Sequence[str]) -> int:
    """Run ssh and return its status. ssh handles Ctrl-C; termination signals are passed to it, so that clean-up still runs."""
    child: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def forward_signal(number: int, frame: FrameType | None) -> None:
        if child is None:
            early.append(number)
        else:
            child.send_signal(number)

    with _handling(forward_signal, *_ENDING), _handling(lambda number, frame: None, signal.SIGINT):
        child = subprocess.Popen(list(arguments))
        for number in early:
            child.send_signal(number)
        status = child.wait()
    return status if status >= 0 else 128 - status


@contextmanager
def _handling(handler: Callable[[int, FrameType | None], None], *numbers: signal.Signals) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
