"""Tenants and projects are exported, deleted and brought back with the command alone."""

import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuaas_cli.exports import write_export
from gpuaas_cli.failures import CommandFailed, ExitCode
from system_support.server import RunningServer


@pytest.fixture
def operator(server: RunningServer, gpuaas: Any) -> Any:
    words = ("login", server.admin_email, "--server", server.url, "--password-stdin")
    assert gpuaas(*words, typed=f"{server.admin_password}\n").code == 0
    return gpuaas


@pytest.fixture
def tenant(operator: Any) -> Iterator[str]:
    slug = f"del-{secrets.token_hex(3)}"
    assert operator("tenants", "create", slug).code == 0
    assert operator("projects", "create", "train", "--tenant", slug).code == 0
    yield slug
    operator("tenants", "undelete", slug)


def status(operator: Any, *words: str) -> tuple[object, bool]:
    shown = operator(*words, "-o", "json")
    assert shown.code == 0, shown.err
    return shown.json["slug"], shown.json["delete_after"] is not None


def test_a_tenant_is_exported_deleted_and_brought_back(operator: Any, tenant: str, tmp_path: Path) -> None:
    target = tmp_path / "all.ndjson"
    exported = operator("tenants", "export", tenant, str(target))
    assert exported.code == 0, exported.err
    kinds = [json.loads(line)["kind"] for line in target.read_text().splitlines()]
    assert (kinds[0], kinds[-1]) == ("export", "end")
    assert {"tenant", "project", "audit_record"} <= set(kinds)
    unsure = operator("tenants", "delete", tenant)
    assert (unsure.code, status(operator, "tenants", "show", tenant)) == (ExitCode.USAGE, (tenant, False))
    deleted = operator("tenants", "delete", tenant, "--yes")
    assert (deleted.code, f"gpuaas tenants undelete {tenant}" in deleted.out) == (0, True), deleted
    assert status(operator, "tenants", "show", tenant) == (tenant, True)
    listed = operator("tenants", "list")
    assert any(tenant in line and "deleting" in line for line in listed.out.splitlines())
    refused = operator("projects", "create", "more", "--tenant", tenant)
    assert (refused.code, "deletion_scheduled" in refused.err) == (ExitCode.DENIED, True)
    assert operator("tenants", "undelete", tenant).code == 0
    assert status(operator, "tenants", "show", tenant) == (tenant, False)


def test_a_project_is_exported_deleted_and_brought_back(operator: Any, tenant: str, tmp_path: Path) -> None:
    project, target = f"{tenant}/train", tmp_path / "train.ndjson"
    assert operator("projects", "export", project, str(target)).code == 0
    assert json.loads(target.read_text().splitlines()[1])["data"]["slug"] == "train"
    assert operator("projects", "delete", project, "--yes").code == 0
    assert status(operator, "projects", "show", project) == ("train", True)
    assert operator("projects", "undelete", project).code == 0
    again = operator("projects", "undelete", project)
    assert again.code == ExitCode.CONFLICT
    assert status(operator, "projects", "show", project) == ("train", False)


def test_rows_of_the_trail_are_picked_by_the_way_they_came(operator: Any, tenant: str) -> None:
    for source, found in (("cli", True), ("agent", False)):
        listed = operator("audit", "list", "--tenant", tenant, "--source", source, "-o", "json")
        assert (listed.code, bool(listed.items)) == (0, found), listed.err
    assert operator("audit", "list", "--tenant", tenant, "--source", "telepathy").code == ExitCode.USAGE


def test_rows_of_the_trail_are_picked_by_what_came_of_it(operator: Any, tenant: str) -> None:
    for outcome, found in (("done", True), ("failed", False)):
        listed = operator("audit", "list", "--tenant", tenant, "--outcome", outcome, "-o", "json")
        assert (listed.code, bool(listed.items)) == (0, found), listed.err
    assert operator("audit", "list", "--tenant", tenant, "--outcome", "maybe").code == ExitCode.USAGE


@pytest.mark.parametrize("cut", [b"", b'{"kind":"export","data":{}}\n', b'{"kind":"export","data":{}}\n{"kind":"ev'])
def test_an_export_that_was_cut_off_leaves_no_file(cut: bytes, tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="before its last line"):
        write_export(iter([cut]), tmp_path / "all.ndjson")
    assert list(tmp_path.iterdir()) == []
