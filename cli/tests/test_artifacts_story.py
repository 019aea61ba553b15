"""The command publishes, signs, promotes and revokes against a real server and its worker."""

import secrets
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from system_support.server import RunningServer


@pytest.fixture
def publisher(server: RunningServer, gpuaas: Any) -> Any:
    """The command, signed in, with a tenant and a project of its own as the configured ones."""
    login = ("login", server.admin_email, "--server", server.url, "--password-stdin")
    assert gpuaas(*login, typed=f"{server.admin_password}\n").code == 0
    tenant = f"tools-{secrets.token_hex(3)}"
    assert gpuaas("tenants", "create", tenant, "--name", "Tools").code == 0
    assert gpuaas("projects", "create", "build", "--tenant", tenant).code == 0

    def run(*arguments: str, **more: Any) -> Any:
        place = ("--tenant", tenant) if arguments[0] == "trust" else ("--project", f"{tenant}/build")
        return gpuaas(*arguments, *place, **more)

    return run


def keys(directory: Path) -> tuple[Path, Path]:
    key = generate_private_key(SECP256R1())
    private, public = directory / "release.key", directory / "release.pub"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return private, public


def test_from_a_file_to_an_active_artifact_and_its_end(publisher: Any, tmp_path: Path) -> None:
    tool = tmp_path / "Tool_1.sh"
    tool.write_bytes(b"#!/bin/sh\n" * 200_000)
    published = publisher("artifacts", "publish", str(tool), "-o", "json")
    assert published.code == 0, published.err
    artifact = published.json
    assert (artifact["name"], artifact["stage"], artifact["trust"]) == ("tool-1-sh", "draft", "unverified")
    assert "uploaded" in published.err
    private, public = keys(tmp_path)
    assert publisher("trust", "add-key", "release", str(public)).code == 0
    assert publisher("trust", "require-signatures", "--reason", "the auditors ask").code == 0
    (tmp_path / "stranger").mkdir()
    strange, _ = keys(tmp_path / "stranger")
    refused = publisher("artifacts", "sign", "tool-1-sh", "--key", str(strange))
    assert (refused.code, "artifact_untrusted" in refused.err) == (1, True), refused.out + refused.err
    signed = publisher("artifacts", "sign", "tool-1-sh", "--key", str(private), "-o", "json")
    assert signed.json["trust"] == "verified", signed.err
    early = publisher("artifacts", "promote", "tool-1-sh", "staged", "--reason", "ready")
    assert early.code == 5
    assert "smoke" in early.err, "the platform has linted it by itself; a smoke test is the publisher's to bring"
    for kind in ("lint", "smoke"):
        added = publisher("artifacts", "add-evidence", "tool-1-sh", kind, "--tool", "t 1", "--summary", "clean")
        assert added.code == 0, added.err
    not_a_canary = publisher("artifacts", "rollback", "tool-1-sh", "--reason", "a slip")
    assert (not_a_canary.code, "is draft" in not_a_canary.err) == (5, True)
    assert publisher("artifacts", "promote", "tool-1-sh", "staged", "--reason", "ready").code == 0
    canary = ("artifacts", "promote", "tool-1-sh", "canary", "--percent", "10", "--reason", "try it")
    assert "canary 10%" in publisher(*canary).out
    assert publisher("artifacts", "rollback", "tool-1-sh", "--reason", "not yet").code == 0
    assert publisher(*canary).code == 0
    assert publisher("artifacts", "promote", "tool-1-sh", "active", "--reason", "it works").code == 0
    target = tmp_path / "fetched"
    assert publisher("artifacts", "download", "tool-1-sh", str(target)).code == 0
    assert target.read_bytes() == tool.read_bytes()
    assert publisher("artifacts", "revoke", "tool-1-sh", "--reason", "a hole", "--yes").code == 0
    verified = publisher("artifacts", "verify", "tool-1-sh")
    assert (verified.code, "revoked" in verified.err) == (1, True)
    again = publisher("artifacts", "publish", str(tool))
    assert (again.code, "already" in again.err or "has an artifact" in again.err) == (5, True)


def test_an_image_needs_a_registry(publisher: Any) -> None:
    refused = publisher("artifacts", "push-target", "image")
    assert (refused.code, "no image registry" in refused.err) == (5, True)
