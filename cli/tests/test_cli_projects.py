"""An instance that serves a second project, and what it was used for, with the command alone."""

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gpuaas_cli.failures import ExitCode
from gpuaas_sdk import Client, ServiceAccountCredentials, UsageReport
from gpuaas_sdk.testing import CatalogApp, Sandbox
from system_support.server import RunningServer

MANIFEST = """\
manifest: 1
slug: {slug}
display_name: Notes
version: 1.0.0
runtime_version: "1"
artifact: {kind: controller, digest: "{digest}"}
compatibility: {requires_capacity_shape: [gpu_slice]}
tenant_scope: true
components:
  - {key: head, min: 1, max: 1}
metering: [{key: notes, unit: count}]
footprint: {units: [notes.service]}
"""


@pytest.fixture(scope="module")
def catalog_app(server: RunningServer) -> Iterator[CatalogApp]:
    sandbox = Sandbox.create(server)
    sandbox.offer()
    with sandbox.simulated_fleet(1, "--delay-ms", "20", first_index=7900 + secrets.randbelow(90)):
        made = CatalogApp(sandbox, f"notes-{secrets.token_hex(3)}")
        made.publish(MANIFEST.replace("{slug}", made.slug), secrets.token_bytes(32))
        yield made


@pytest.fixture
def operator(catalog_app: CatalogApp, gpuaas: Any) -> Any:
    server = catalog_app.sandbox.server
    words = ("login", server.admin_email, "--server", server.url, "--password-stdin")
    assert gpuaas(*words, typed=f"{server.admin_password}\n").code == 0
    assert gpuaas("config", "set", "project", catalog_app.project_id).code == 0
    return gpuaas


def counted(catalog_app: CatalogApp, instance: str, *records: UsageReport) -> None:
    """As the app's controller tells it."""
    who = catalog_app.controller()
    with Client(who.url, credentials=ServiceAccountCredentials(who.client_id, who.client_secret)) as client:
        client.controller.report_usage(catalog_app.project_id, instance, records)


def test_a_second_project_is_served_sees_the_instance_and_its_own_usage(catalog_app: CatalogApp, operator: Any) -> None:
    sandbox = catalog_app.sandbox
    slug = f"serve-{secrets.token_hex(3)}"
    other = sandbox.admin.projects.create(sandbox.tenant_id, slug, "Serving")
    instance, _ = catalog_app.deploy("shared", [("head", catalog_app.allocate(1)[0])])
    busy = operator("instances", "serve", "shared", other.id)
    assert (busy.code, "operation_in_progress" in busy.err) == (ExitCode.CONFLICT, True)  # its deploy is not over
    sandbox.admin.operations.cancel(
        catalog_app.project_id, sandbox.admin.instances.show(catalog_app.project_id, instance).operation_id
    )
    served = operator("instances", "serve", "shared", other.id)
    assert (served.code, "there is nothing to do" in served.err + served.out) == (0, True), served.err
    assert slug in operator("instances", "projects", "shared").out
    assert [one["project_id"] for one in operator("instances", "projects", "shared", "-o", "json").json["items"]] == [
        catalog_app.project_id,
        other.id,
    ]
    listed = operator("instances", "list", "--served", "--project", other.id, "-o", "json").items
    assert [one["id"] for one in listed] == [instance]
    now = datetime.now(UTC)
    same = {"metric": "notes", "unit": "count", "started_at": now, "ended_at": now}
    counted(
        catalog_app,
        instance,
        UsageReport(source_key="a/1", project_id=catalog_app.project_id, quantity=3, **same),
        UsageReport(source_key="a/2", project_id=other.id, quantity=4, subject="page 2", **same),
    )
    shown = operator(
        "usage", "list", "--instance", "shared", "--since", f"{now:%Y-%m-%d}T00:00Z", "--project", other.id
    )
    assert (shown.code, "page 2" in shown.out, "a/1" in shown.out) == (0, True, False), shown.err
    long_ago = operator("usage", "list", "--since", "20000d", "--project", other.id)  # a span leads back, not ahead
    assert (long_ago.code, "page 2" in long_ago.out) == (0, True), long_ago.err
    days = ("--from", f"{now:%Y-%m-%d}", "--to", f"{now + timedelta(days=1):%Y-%m-%d}")
    assert [one["quantity"] for one in operator("usage", "totals", *days, "-o", "json").items] == [3]
    assert operator("instances", "unserve", "shared", other.id, "--yes").code == 0
    assert operator("instances", "list", "--served", "--project", other.id, "-o", "json").items == []
