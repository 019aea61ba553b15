"""Open SSH sessions, by the key or certificate that opened them; sshd tells each session (`ExposeAuthInfo`).

To take a way in back is to hang up on who came in by it. What they left running in the background is the tenant's to keep.
"""

from __future__ import annotations

import base64
import contextlib
import os
import signal
import stat
import struct
from collections.abc import Collection, Sequence

from gpuaas_agent.host.processes import Process, snapshot

_VARIABLE = b"SSH_USER_AUTH="
_LARGEST = 1 << 20
_KEY_PARTS = {
    "ssh-ed25519-cert-v01@openssh.com": 1,
    "sk-ssh-ed25519-cert-v01@openssh.com": 2,
    "ssh-rsa-cert-v01@openssh.com": 2,
    "ecdsa-sha2-nistp256-cert-v01@openssh.com": 2,
    "ecdsa-sha2-nistp384-cert-v01@openssh.com": 2,
    "ecdsa-sha2-nistp521-cert-v01@openssh.com": 2,
    "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com": 3,
}


def end_sessions(serials: Collection[int], keys: Collection[str]) -> int:
    """Hang up on sessions that were opened by one of these certificates or public keys; how many there were."""
    if not serials and not keys:
        return 0
    processes = snapshot()
    doomed = set()
    for process in processes:
        if any(is_by(line, serials, keys) for line in ways_in(process.pid)):
            connection = connection_of(process, processes)
            if connection is not None:
                doomed.add(connection)
    for pid in doomed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    return len(doomed)


def is_by(line: str, serials: Collection[int], keys: Collection[str]) -> bool:
    """`publickey TYPE BASE64`, as sshd writes it for each method that was passed."""
    method, _, identity = line.strip().partition(" ")
    if method != "publickey":
        return False
    if identity in {" ".join(key.split()[:2]) for key in keys}:
        return True
    return serial_of(identity) in serials


def serial_of(identity: str) -> int | None:
    """The serial of a certificate: behind its type, a nonce, and the parts of the key. None: it is no certificate.

    Read by hand, since a host's own Python has no library that can.
    """
    kind, _, text = identity.partition(" ")
    if kind not in _KEY_PARTS:
        return None
    try:
        rest = memoryview(base64.b64decode(text, validate=True))
        for _ in range(2 + _KEY_PARTS[kind]):
            (length,) = struct.unpack_from(">I", rest)
            rest = rest[4 + length :]
        return int(struct.unpack_from(">Q", rest)[0])
    except (ValueError, struct.error):
        return None


def connection_of(process: Process, processes: Sequence[Process]) -> int | None:
    """The sshd that serves the process's connection. None: it lost its connection, or never had one of its own."""
    by_pid = {one.pid: one for one in processes}
    parent = by_pid.get(process.parent)
    while parent is not None and parent.pid != 1:
        if parent.name.startswith("sshd"):
            # Its title names user and terminal; the listener's does not, and must live.
            return parent.pid if parent.command.startswith("sshd: ") and "@" in parent.command else None
        parent = by_pid.get(parent.parent)
    return None


def ways_in(pid: int) -> list[str]:
    """A session may end while we look, and may have closed its environment to us: then it is nobody's we know."""
    with contextlib.suppress(OSError):
        for entry in _read(f"/proc/{pid}/environ").split(b"\0"):
            if entry.startswith(_VARIABLE):
                told = os.fsdecode(entry.removeprefix(_VARIABLE)).lstrip("/")
                return _read(f"/proc/{pid}/root/{told}").decode(errors="replace").splitlines()
    return []


def _read(path: str) -> bytes:
    """Which file it is, a tenant can choose: no more than so much of it, and nothing that would keep us waiting."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        return file.read(_LARGEST)
