"""Ends open SSH sessions by the key or certificate that opened them; `ExposeAuthInfo` makes sshd expose it to each session.

Revoking access ends the sessions that it opened; processes in the background continue. A session can discard the
information (`exec env -i`). It is then unidentified, and ends as well.
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
import signal
import stat
import struct
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from gpuaas_agent.host.processes import Process, snapshot

_VARIABLE = b"SSH_USER_AUTH="
_LARGEST = 1 << 20
# The title of the sshd process that serves a connection names user and terminal; the listener's and the monitor's do not.
_SERVES = re.compile(r"sshd(?:-session)?: ([^\s@]+)@")
_LOOKS, _PAUSE_SECONDS = 3, 0.1
_KEY_PARTS = {
    "ssh-ed25519-cert-v01@openssh.com": 1,
    "sk-ssh-ed25519-cert-v01@openssh.com": 2,
    "ssh-rsa-cert-v01@openssh.com": 2,
    "ecdsa-sha2-nistp256-cert-v01@openssh.com": 2,
    "ecdsa-sha2-nistp384-cert-v01@openssh.com": 2,
    "ecdsa-sha2-nistp521-cert-v01@openssh.com": 2,
    "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com": 3,
}


@dataclass(frozen=True)
class SessionScope:
    """Connections of one user and, by a part of the control group's name, of one allocation."""

    login_user: str
    group: str = ""

    def includes(self, connection: Process) -> bool:
        title = _SERVES.match(connection.command)
        return title is not None and title[1] == self.login_user and self.group in connection.group


def end_sessions(serials: Collection[int], keys: Collection[str], unidentified: SessionScope | None = None) -> int:
    """End sessions that one of these certificates or public keys opened, and unidentified sessions in the scope. Returns
    the number of ended sessions.
    """
    if not serials and not keys:
        return 0
    processes = snapshot()
    doomed = set()
    for process in processes:
        if any(is_authenticated_by(line, serials, keys) for line in auth_info_lines(process.pid)):
            connection = connection_of(process, processes)
            if connection is not None:
                doomed.add(connection)
    if unidentified is not None:
        doomed |= _unidentified_repeatedly(unidentified)
    for pid in doomed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    return len(doomed)


def _unidentified_repeatedly(scope: SessionScope) -> set[int]:
    """Return connections that are unidentified in each of several snapshots: processes start and end meanwhile."""
    silent = {one.instance: one.pid for one in unidentified_connections(snapshot(), scope, _has_auth_info)}
    for _ in range(_LOOKS - 1):
        if silent:
            time.sleep(_PAUSE_SECONDS)
            again = unidentified_connections(snapshot(), scope, _has_auth_info)
            silent = {one.instance: one.pid for one in again if one.instance in silent}
    return set(silent.values())


def unidentified_connections(
    processes: Sequence[Process], scope: SessionScope, has_auth_info: Callable[[int], bool]
) -> list[Process]:
    """Return connections that run processes, none of which has authentication information.

    A connection without processes only forwards ports, or is about to start one, which is still a copy of sshd.
    """
    served: dict[int, list[Process]] = {}
    for process in processes:
        connection = connection_of(process, processes)
        if connection is not None:
            served.setdefault(connection, []).append(process)
    return [
        one
        for one in processes
        if one.pid in served
        and scope.includes(one)
        and not any(_is_copy(process, one) or has_auth_info(process.pid) for process in served[one.pid])
    ]


def _is_copy(process: Process, connection: Process) -> bool:
    return (process.executable, process.command) == (connection.executable, connection.command)


def _has_auth_info(pid: int) -> bool:
    return bool(auth_info_lines(pid))


def is_authenticated_by(line: str, serials: Collection[int], keys: Collection[str]) -> bool:
    """Tell whether a line of authentication information, `publickey TYPE BASE64`, names one of these serials or keys."""
    method, _, identity = line.strip().partition(" ")
    if method != "publickey":
        return False
    if identity in {" ".join(key.split()[:2]) for key in keys}:
        return True
    return serial_of(identity) in serials


def serial_of(identity: str) -> int | None:
    """Return the serial of a certificate, which follows its type, a nonce, and the parts of the key; None if it is a key.

    It is parsed by hand, because Debian's Python has no library for it.
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
    """Return the pid of the sshd that serves the process's connection; None if it has no connection."""
    by_pid = {one.pid: one for one in processes}
    parent = by_pid.get(process.parent)
    while parent is not None and parent.pid != 1:
        if parent.name.startswith("sshd") and _is_of_root(by_pid.get(parent.parent)):
            return parent.pid if _SERVES.match(parent.command) else None
        parent = by_pid.get(parent.parent)
    return None


def _is_of_root(process: Process | None) -> bool:
    """Tell whether the parent is root's sshd or init; a tenant's own program named `sshd` has no such parent."""
    return process is not None and process.uid == 0 and (process.pid == 1 or process.name.startswith("sshd"))


def auth_info_lines(pid: int) -> list[str]:
    """Return the session's authentication information; empty if it ended or hides its environment."""
    with contextlib.suppress(OSError):
        for entry in _read(f"/proc/{pid}/environ").split(b"\0"):
            if entry.startswith(_VARIABLE):
                path = os.fsdecode(entry.removeprefix(_VARIABLE)).lstrip("/")
                return _read(f"/proc/{pid}/root/{path}").decode(errors="replace").splitlines()
    return []


def _read(path: str) -> bytes:
    """Read a file that a tenant may have chosen: only a bounded part of a regular file, without blocking."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        return file.read(_LARGEST)
