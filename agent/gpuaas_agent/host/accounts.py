"""The tenant's account on a bare-metal host."""

from __future__ import annotations

import contextlib
import os
import pwd
from pathlib import Path

from gpuaas_agent import commands
from gpuaas_agent.commands import Deadline
from gpuaas_agent.failures import TaskFailure

SUDOERS = Path("/etc/sudoers.d/gpuaas")
FIRST_TENANT_UID = 1000


def sudoers_text(user: str) -> str:
    return f"{user} ALL=(ALL:ALL) NOPASSWD: ALL\n"


def ensure_user(user: str, deadline: Deadline) -> pwd.struct_passwd:
    """Create the login user with a home, a shell, no password, and sudo."""
    with contextlib.suppress(KeyError):
        entry = pwd.getpwnam(user)
        if entry.pw_uid < FIRST_TENANT_UID:
            raise TaskFailure(
                "login_user_taken",
                f"{user} is a system account of this host",
                "Choose another login user for the SKU.",
            )
        if SUDOERS.exists():
            _write_sudoers(user)
            return entry
        # sudo is granted last, so without it an earlier useradd was interrupted. An existing home stays.
        commands.attempt(["userdel", "--force", user], deadline)
    settings = ["--create-home", "--user-group", "--shell", "/bin/bash", "--password", "*", "--expiredate", ""]
    commands.run(["useradd", *settings, user], deadline)
    _write_sudoers(user)
    return pwd.getpwnam(user)


def _write_sudoers(user: str) -> None:
    SUDOERS.parent.mkdir(mode=0o750, exist_ok=True)
    fresh = SUDOERS.with_name(".gpuaas.new")  # sudo skips names with a dot
    fresh.write_text(sudoers_text(user))
    fresh.chmod(0o440)
    os.replace(fresh, SUDOERS)


def disable_user(user: str, deadline: Deadline) -> None:
    """Block new logins and sudo; the wipe removes the account itself."""
    SUDOERS.unlink(missing_ok=True)
    try:
        entry = pwd.getpwnam(user)
    except KeyError:
        return
    if entry.pw_uid < FIRST_TENANT_UID:
        return
    commands.attempt(["usermod", "--expiredate", "1", "--lock", user], deadline)
