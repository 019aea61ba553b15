"""A new app from one command, and its publication with another: as an app team begins."""

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from gpuaas_cli.app_publication import pack_folder
from gpuaas_cli.app_skeleton import write_skeleton
from system_support.server import RunningServer

TOOLS = Path(sys.executable).parent
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def operator(server: RunningServer, gpuaas: Any) -> Any:
    login = gpuaas(
        "login", server.admin_email, "--server", server.url, "--password-stdin", typed=f"{server.admin_password}\n"
    )
    assert login.code == 0, login.err
    return gpuaas


def run(folder: Path, *command: str) -> str:
    paths = {"MYPYPATH": str(REPOSITORY / "sdk"), "PATH": os.environ["PATH"]}
    ran = subprocess.run(command, cwd=folder, env=paths, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_a_new_app_lints_and_its_tests_pass_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "word-count"
    write_skeleton("word-count", folder)
    run(folder, str(TOOLS / "ruff"), "check", ".")
    run(folder, str(TOOLS / "ruff"), "format", "--check", ".")
    run(folder, sys.executable, "-m", "mypy", ".", "--cache-dir", str(tmp_path / "mypy"))
    assert "2 passed" in run(folder, sys.executable, "-m", "pytest", "-p", "no:cacheprovider")


def test_equal_content_is_packed_into_equal_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep" / "b").write_text("b")
        (tmp_path / name / "a").write_text("a")
        os.utime(tmp_path / name / "a", (len(name), secrets.randbelow(10**9)))
    assert pack_folder(tmp_path / "one") == pack_folder(tmp_path / "two")
    (tmp_path / "two" / "a").write_text("other")
    assert pack_folder(tmp_path / "one") != pack_folder(tmp_path / "two")


def test_a_new_app_is_published_by_one_command_that_can_be_repeated(operator: Any, tmp_path: Path) -> None:
    slug = f"web-{secrets.token_hex(3)}"
    assert operator("tenants", "create", slug, "--name", "Maker").code == 0
    assert operator("projects", "create", "forge", "--tenant", slug).code == 0
    project, folder = f"{slug}/forge", tmp_path / slug
    assert operator("apps", "init", slug, "--folder", str(folder)).code == 0
    again = operator("apps", "init", slug, "--folder", str(folder))
    assert (again.code, "exists" in again.err) == (5, True), again.err
    private = ec.generate_private_key(ec.SECP256R1())
    key, public = tmp_path / "release.pem", tmp_path / "release.pub"
    key.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    assert operator("trust", "add-key", "release", str(public), "--tenant", slug).code == 0
    publish = ("apps", "publish", str(folder), "--reason", "first version", "--key", str(key), "-p", project)
    publish += ("--footprint", f"{sys.executable} footprint.py")
    checks = ("--lint", f"{TOOLS}/ruff check .", "--smoke", f"{sys.executable} -m pytest -q -p no:cacheprovider")

    broken = operator(*publish, "--lint", "false", "--smoke", "true")
    assert (broken.code == 0, "The lint check failed: false." in broken.err) == (False, True), broken.err
    for command, why in (("false", "The command failed"), ("echo 1", "printed no footprint"), ("nowhere", "cannot be")):
        underived = operator(*publish, "--lint", "true", "--smoke", "true", "--footprint", command)
        assert (underived.code == 0, why in underived.err) == (False, True), underived.err
    assert operator("artifacts", "list", "-p", project, "-o", "json").items == []
    done = operator(*publish, *checks)
    assert done.code == 0, done.err + done.out
    assert "footprint: 1 units, 1 ports, 1 paths, 1 users" in done.out
    told = ("smoke: 2 passed", "uploaded as sha256:", "signed: verified", "the artifact is active", "is active")
    assert all(part in done.out for part in told), done.out
    [artifact] = operator("artifacts", "list", "-p", project, "-o", "json").items
    evidence = operator("artifacts", "evidence", artifact["id"], "-p", project, "-o", "json").items
    assert {(one["kind"], one["passed"]) for one in evidence} == {("lint", True), ("smoke", True)}
    assert slug in operator("apps", "list", "-p", project).out
    shown: Any = json.loads(operator("apps", "show", slug, "-p", project, "-o", "json").out)
    assert shown["manifest"]["footprint"] == {
        "units": [f"{slug}.service"], "ports": [{"port": 7070}], "paths": [f"/opt/{slug}"], "users": [slug],
    }  # fmt: skip

    repeated = operator(*publish, "--lint", "false", "--smoke", "false")  # nothing is left to check
    assert (repeated.code, "uploaded" in repeated.out) == (0, False), repeated.err
    (folder / "program" / "serve.py").write_text("print('other')\n")
    other = operator(*publish, "--lint", "true", "--smoke", "true")
    assert "version_exists" in other.err, "other bytes are another version"
    assert len(operator("artifacts", "list", "-p", project, "-o", "json").items) == 1
