"""The first administrator cannot be lost on the way to whoever starts the platform, and an administrator can be reset."""

import json
import os
from pathlib import Path

import pytest

from gpuaas_server.identity.administrators import Administrator, ensure_first_admin, reset_admin
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.start import StartFailed
from gpuaas_server.processes.admin_file import write_admin_file
from tests_support import server_processes
from tests_support.people import World, token_request
from tests_support.select import select


async def users(platform: Platform) -> list[str]:
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT email FROM users ORDER BY email")
        return [row["email"] for row in await cursor.fetchall()]


async def test_no_administrator_is_created_when_the_password_could_not_be_written(
    platform: Platform, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    impossible = tmp_path / "file" / "admin.json"
    with pytest.raises(StartFailed, match="nobody was created"):
        await ensure_first_admin(platform, lambda admin: write_admin_file(impossible, admin))
    assert await users(platform) == []
    assert await ensure_first_admin(platform) is not None


def test_a_missing_folder_is_made_and_closed_to_others(tmp_path: Path) -> None:
    path = tmp_path / "not" / "there" / "admin.json"
    write_admin_file(path, Administrator("a@b.test", "secret"))
    assert json.loads(path.read_text()) == {"email": "a@b.test", "password": "secret"}
    assert [path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777] == [0o600, 0o700]
    assert os.listdir(path.parent) == ["admin.json"]


def test_a_file_of_ours_is_replaced_and_a_foreign_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "admin.json"
    write_admin_file(path, Administrator("a@b.test", "of an attempt that did not end"))
    write_admin_file(path, Administrator("a@b.test", "secret"))
    assert json.loads(path.read_text())["password"] == "secret"
    path.write_text("my thesis")
    with pytest.raises(StartFailed, match="no administrator's file"):
        write_admin_file(path, Administrator("a@b.test", "secret"))
    assert path.read_text() == "my thesis"


async def test_a_reset_ends_sessions_enables_and_unlocks_and_is_audited(world: World) -> None:
    for _ in range(world.platform.settings.login_attempts):
        await token_request(world.client, world.admin.email, "a wrong one")
    async with world.platform.database.connection(PLATFORM) as connection:
        await connection.execute("UPDATE users SET disabled = true WHERE email = %s", (world.admin.email,))
    new = await reset_admin(world.platform, None)
    assert new.email == world.admin.email
    assert (await token_request(world.client, new.email, world.password)).status_code == 401
    answer = await token_request(world.client, new.email, new.password)
    assert answer.status_code == 200, answer.text
    assert (await world.admin.get("/me")).status_code == 401
    world.admin.token = answer.json()["access_token"]
    (row,) = await world.audit(action="admin_reset")
    assert (row["resource_id"], row["details"]["created"]) == (world.admin.id, False)
    assert row["actor_name"] == "admin-reset"


async def test_a_reset_makes_the_named_user_an_administrator_unless_a_tenant_owns_the_user(world: World) -> None:
    acme = await world.tenant("acme")
    await world.person("ann@acme.test", acme)
    helper = await world.person("helper@platform.test")
    assert (await helper.get("/tenants")).json()["items"] == []
    new = await reset_admin(world.platform, "Helper@platform.test")
    made = await reset_admin(world.platform, "new@platform.test")
    for admin in (new, made):
        answer = await token_request(world.client, admin.email, admin.password)
        helper.token = answer.json()["access_token"]
        assert [item["id"] for item in (await helper.get("/tenants")).json()["items"]] == [acme]
    with pytest.raises(StartFailed, match="a user of a tenant"):
        await reset_admin(world.platform, "ann@acme.test")


async def test_a_reset_creates_the_first_administrator_when_there_is_none(platform: Platform) -> None:
    made = await reset_admin(platform, None)
    assert await users(platform) == [made.email]
    assert await ensure_first_admin(platform) is None


def test_the_command_prints_the_password_once_or_writes_it(tmp_path: Path, fresh_database_url: str) -> None:
    printed = server_processes.run(["admin", "reset"], tmp_path, database_url=fresh_database_url)
    assert printed.returncode == 0, printed.stderr
    assert json.loads(printed.stdout)["email"] == "admin@gpuaas.local"
    path = tmp_path / "safe" / "admin.json"
    command = ["admin", "reset", "--email", "boss@platform.test", "--admin-file", str(path)]
    written = server_processes.run(command, tmp_path, database_url=fresh_database_url)
    assert written.returncode == 0, written.stderr
    password = json.loads(path.read_text())["password"]
    assert password not in written.stdout + written.stderr
