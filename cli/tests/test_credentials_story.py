"""A project's credential from the command line: made, taken out of custody, rotated, revoked; and the store's key."""

import secrets
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpuaas_sdk.testing import Sandbox


@pytest.fixture
def admin(sandbox: Sandbox, gpuaas: Any) -> Any:
    server = sandbox.server
    login = ("login", server.admin_email, "--server", server.url, "--password-stdin")
    assert gpuaas(*login, typed=f"{server.admin_password}\n").code == 0
    return gpuaas


def test_a_key_goes_from_custody_into_a_file_of_its_own(admin: Any, sandbox: Sandbox, tmp_path: Path) -> None:
    here, name, file = ("--project", sandbox.project_id), f"robot-{secrets.token_hex(3)}", tmp_path / "robot.key"
    [made] = admin("credentials", "create", name, "--kind", "ssh_key", *here, "-o", "json").items
    taken = admin("credentials", "get-key", name, "--to", str(file), *here)
    assert taken.code == 0, taken.err
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    derived = subprocess.run(["ssh-keygen", "-y", "-f", str(file)], capture_output=True, text=True, check=True).stdout
    assert derived.split()[:2] == str(made["public_key"]).split()[:2]
    assert "PRIVATE KEY" not in taken.out + taken.err
    assert admin("credentials", "get-key", name, "--to", str(file), *here).code == 1  # never over a file
    [rotated] = admin("credentials", "rotate", name, "--overlap", "5", "--yes", *here, "-o", "json").items
    assert rotated["version"] == 2
    assert [one["version"] for one in admin("credentials", "deliveries", name, *here, "-o", "json").items][-1] == 1
    [ended] = admin("credentials", "revoke", name, "--reason", "done", "--yes", *here, "-o", "json").items
    assert ended["revoked_at"] is not None
    assert admin("credentials", "show", name, *here).code == 3  # no living one has the name
    assert [one["id"] for one in admin("credentials", "list", *here, "-o", "json").items] == [made["id"]]


def test_the_key_of_the_store_is_rotated_and_the_old_one_destroyed(admin: Any, sandbox: Sandbox) -> None:
    sandbox.admin.access_credentials.create(sandbox.project_id, "kept", kind="ssh_key")
    [made] = admin("secret-keys", "rotate", "--reason", "yearly", "--yes", "-o", "json").items

    def settled() -> bool:
        others = [one for one in sandbox.admin.secret_keys.list() if one.id != made["id"]]
        return all(one.retired_at is not None and one.protects == 0 for one in others)

    sandbox.admin.wait_for(settled, 30.0, what="the old keys to be destroyed")
    assert sandbox.admin.access_credentials.list(sandbox.project_id).first(1)[0].name == "kept"
    credential = sandbox.admin.access_credentials.list(sandbox.project_id).first(1)[0]
    assert b"PRIVATE KEY" in sandbox.admin.access_credentials.private_key(sandbox.project_id, credential.id)
