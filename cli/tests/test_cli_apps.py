"""Publishing an app with the command alone, on a real server: from a file with faults to the catalogue of another tenant."""

import secrets
from pathlib import Path
from typing import Any

import pytest

from system_support.server import RunningServer

MANIFEST = """\
manifest: 1
slug: {slug}
display_name: Echo
description: Answers what it hears.
version: {version}
runtime_version: "1.0"
artifact:
  kind: controller
  digest: {digest}
compatibility:
  requires_capacity_shape: [baremetal, gpu_slice]
components:
  - key: head
    min: 1
    max: 1
  - key: node
    min: 1
    max: 8
    depends_on: [head]
inputs:
  type: object
  required: [greeting]
  properties:
    greeting: {{type: string}}
options:
  drain:
    type: object
    properties:
      patience: {{enum: [wait, cut]}}
footprint:
  units: [echo.service]
"""


@pytest.fixture
def operator(server: RunningServer, gpuaas: Any) -> Any:
    login = gpuaas(
        "login", server.admin_email, "--server", server.url, "--password-stdin", typed=f"{server.admin_password}\n"
    )
    assert login.code == 0, login.err
    return gpuaas


@pytest.fixture
def mark() -> str:
    return secrets.token_hex(3)


@pytest.fixture
def project(operator: Any, mark: str) -> str:
    assert operator("tenants", "create", f"maker-{mark}", "--name", "Maker").code == 0
    assert operator("projects", "create", "forge", "--tenant", f"maker-{mark}").code == 0
    return f"maker-{mark}/forge"


def published(operator: Any, project: str, folder: Path) -> str:
    """A blob, published and promoted with the command; its digest."""
    file = folder / "controller.bin"
    file.write_bytes(secrets.token_bytes(64))
    made = operator("artifacts", "publish", str(file), "--name", "controller", "-p", project, "-o", "json")
    assert made.code == 0, made.err
    artifact = made.json
    for kind in ("lint", "smoke"):
        told = (kind, "--tool", "ours", "--summary", "it works")
        assert operator("artifacts", "add-evidence", artifact["id"], *told, "-p", project).code == 0
    for stage in ("staged", "canary", "active"):
        percent = ("--percent", "50") if stage == "canary" else ()
        moved = operator(
            "artifacts", "promote", artifact["id"], stage, *percent, "--reason", "as planned", "-p", project
        )
        assert moved.code == 0, moved.err
    return str(artifact["digest"])


def test_faults_of_a_manifest_are_shown_as_compilers_do(operator: Any, project: str, tmp_path: Path) -> None:
    file = tmp_path / "manifest.yaml"
    text = MANIFEST.format(slug="echo", version="one", digest="latest").replace(
        "min: 1\n    max: 8", "min: x\n    max: 8"
    )
    file.write_text(text)
    refused = operator("apps", "register", "-f", str(file), "-p", project)
    assert refused.code == 2
    told = refused.err.replace("\n", "")
    assert f"{file} has 3 faults." in told
    assert f"{file}:5:10: version:" in told
    assert f"{file}:9:11: artifact.digest:" in told
    assert f"{file}:17:10: components[1].min:" in told
    as_json = operator("apps", "register", "-f", str(file), "-p", project, "-o", "json")
    assert '"line": 17' in as_json.err
    missing = operator("apps", "register", "-f", str(tmp_path / "none.yaml"), "-p", project)
    assert (missing.code, "cannot be read" in missing.err) == (2, True)


def test_from_a_file_to_the_catalogue_of_another_tenant(operator: Any, project: str, mark: str, tmp_path: Path) -> None:
    slug = f"echo-{mark}"
    file = tmp_path / "manifest.yaml"
    file.write_text(MANIFEST.format(slug=slug, version="1.0.0", digest="sha256:" + "0" * 64))
    assert operator("apps", "register", "-f", str(file), "-p", project).code == 0
    refused = operator("versions", "activate", slug, "1.0.0", "-p", project)
    assert (refused.code, "artifact_unknown" in refused.err) == (5, True)

    digest = published(operator, project, tmp_path)
    file.write_text(MANIFEST.format(slug=slug, version="1.1.0", digest=digest))
    assert operator("apps", "register", "-f", str(file), "-p", project).code == 0
    assert operator("versions", "activate", slug, "1.1.0", "-p", project).code == 0
    listed = operator("versions", "list", slug, "-p", project, "-o", "json").items
    assert [(one["version"], one["status"]) for one in listed] == [("1.1.0", "active"), ("1.0.0", "draft")]
    shown = operator("apps", "show", slug, "-p", project)
    assert all(part in shown.out for part in ("1.1.0", "head 1-1", "node 1-8", "greeting*", "drain=patience")), (
        shown.out
    )
    assert operator("apps", "placements", slug, "-p", project, "-o", "json").items == []  # there are no allocations

    assert operator("tenants", "create", f"user-{mark}", "--name", "User").code == 0
    assert operator("projects", "create", "lab", "--tenant", f"user-{mark}").code == 0
    other = f"user-{mark}/lab"
    assert operator("apps", "show", slug, "-p", other).code == 3
    assert operator("apps", "visibility", slug, "entitled", "--reason", "as agreed").code == 0
    assert operator("apps", "entitle", slug, f"user-{mark}").code == 0
    found = operator("apps", "list", "--search", slug.upper(), "-p", other, "-o", "json").items
    assert [(one["slug"], one["latest"], one["own"]) for one in found] == [(slug, "1.1.0", False)]
    assert [one["slug"] for one in operator("apps", "entitlements", "--app", slug, "-o", "json").items] == [slug]

    deprecated = operator(
        "versions", "deprecate", slug, "1.1.0", "--notice", "use 2.0", "--retire-at", "30d", "-p", project
    )
    assert deprecated.code == 0
    assert "use 2.0" in operator("versions", "show", slug, "1.1.0", "-p", project).out
    early = operator("versions", "retire", slug, "1.1.0", "--reason", "done", "--yes", "-p", project)
    assert early.code == 5
    assert operator("versions", "retire", slug, "1.0.0", "--reason", "a mistake", "--yes", "-p", project).code == 0
    assert operator("apps", "disentitle", slug, f"user-{mark}", "--yes").code == 0
    assert operator("apps", "show", slug, "-p", other).code == 3
    mine = operator("apps", "list", "--published", "-p", project, "-o", "json").items
    assert [one["visibility"] for one in mine] == ["entitled"]
