"""The SDK of the last release, as its users have it installed, against the current server."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpuaas_sdk.testing import CatalogApp, Sandbox

ROOT = Path(__file__).parents[2]
MANIFEST = """\
manifest: 1
slug: {slug}
display_name: Old
version: 1.0.0
runtime_version: "1"
artifact: {kind: controller, digest: "{digest}"}
compatibility: {}
components: [{key: head, min: 1, max: 1}]
footprint: {units: [old.service]}
"""


@pytest.fixture
def last_wheel(tmp_path: Path) -> Path:
    """The SDK of the last release. While there is no release, the SDK that a release would keep now."""
    kept = ROOT / "contract" / "released"
    if not kept.exists():
        kept = tmp_path
        subprocess.run([str(ROOT / "tools" / "release-contract"), str(kept)], check=True, timeout=120)
    last = max(kept.iterdir(), key=lambda one: [int(part) for part in one.name.split(".")])
    [wheel] = last.glob("*.whl")
    return wheel


def test_the_sdk_of_the_last_release_works_with_this_server(fleet: Sandbox, last_wheel: Path) -> None:
    catalog_app = CatalogApp(fleet, f"old-{fleet.project_id[-6:].lower()}")
    catalog_app.publish(MANIFEST.replace("{slug}", catalog_app.slug), b"what an old controller is made of")
    person, account = fleet.credentials("project_admin"), catalog_app.controller()
    given = {
        "url": fleet.server.url,
        "project_id": fleet.project_id,
        "app": catalog_app.slug,
        "email": person.username,
        "password": person.password,
        "client_id": account.client_id,
        "client_secret": account.client_secret,
    }
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("released_story.py"))],
        input=json.dumps(given),
        env={**os.environ, "PYTHONPATH": str(last_wheel)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
