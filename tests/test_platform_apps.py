"""`gpuaas-server up` provides the platform's own apps: published once, served for every tenant, started again when killed."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

import pytest

from gpuaas_sdk import AsyncClient, Client, NotFound, ServiceAccountCredentials
from gpuaas_sdk.aio.transport import Request, Transport
from gpuaas_sdk.platform_apps import PlatformApp
from gpuaas_sdk.platform_apps.accounts import AppsAccount, ControllerAccounts, read_secret
from gpuaas_sdk.platform_apps.publication import Publication
from gpuaas_sdk.signatures import digest_of
from gpuaas_sdk.testing import Sandbox
from system_support.server import RunningServer

HANG = 120.0  # seconds, after which nobody waits any more
PROVIDER = "gpuaas_sdk.platform_apps"
MADE = ("publish_intent_create", "artifact_move", "app_version_register", "service_account_create", "tenant_create")
Found = TypeVar("Found")


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with RunningServer.start(platform_apps="echo") as running:
        yield running


@pytest.fixture(scope="module")
def sandbox(server: RunningServer) -> Sandbox:
    return Sandbox.create(server)


def wait(look: Callable[[], Found | None], what: str) -> Found:
    ends = time.monotonic() + HANG
    while (found := look()) is None or not found:
        assert time.monotonic() < ends, what
        time.sleep(0.1)
    return found


def served(sandbox: Sandbox) -> bool:
    try:
        return sandbox.admin.catalog.show(sandbox.project_id, "echo").controller.state == "live"
    except NotFound:
        return False


def controllers(server: RunningServer) -> list[int]:
    """The processes that the provider has started."""
    found = []
    for provider in server.children(PROVIDER):
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if int(parent) == provider and b"gpuaas_echo.controller" in command:
                found.append(int(entry.name))
    return found


def made(admin: Client) -> list[str]:
    return sorted(one.id for one in admin.audit.list() if one.action in MADE)


def account(server: RunningServer) -> AppsAccount:
    path = server.directory / "var/platform-apps/account.json"
    wait(path.exists, "the account was not written")
    assert path.stat().st_mode & 0o777 == 0o600
    return AppsAccount.read(path)


def test_a_tenant_finds_the_app_served_without_doing_anything(sandbox: Sandbox) -> None:
    """It was created before, after or while the app was published: it gets it in any case."""
    wait(lambda: served(sandbox), "echo is not served")
    (consent,) = sandbox.admin.controller_consents.list(sandbox.tenant_id)
    assert (consent.app_slug, consent.given_with, consent.withdrawn_at) == ("echo", "entitlement", None)
    late = Sandbox.create(sandbox.server)
    assert served(late)


def test_what_is_killed_is_started_again(server: RunningServer, sandbox: Sandbox) -> None:
    wait(lambda: served(sandbox), "echo is not served")
    (first,) = controllers(server)
    os.kill(first, signal.SIGKILL)
    (second,) = wait(lambda: [one for one in controllers(server) if one != first], "no second controller")
    (provider,) = server.children(PROVIDER)
    os.kill(provider, signal.SIGKILL)
    wait(lambda: not Path(f"/proc/{second}").exists(), "the controller outlives its parent")
    wait(lambda: [one for one in controllers(server) if one not in (first, second)], "no third controller")
    assert provider not in server.children(PROVIDER)


def test_a_restart_makes_nothing_anew(server: RunningServer, sandbox: Sandbox) -> None:
    wait(lambda: served(sandbox), "echo is not served")
    before = made(sandbox.admin)
    server.stop()
    assert of_directory(server.directory) == []
    server.restart()
    wait(lambda: controllers(server), "no controller after the restart")
    wait(lambda: served(sandbox), "echo is not served after the restart")
    assert made(sandbox.admin) == before


def of_directory(directory: Path) -> list[str]:
    """Processes that were told about the server's directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            told = (entry / "environ").read_bytes()
        except OSError:
            continue
        if entry.name != str(os.getpid()) and str(directory).encode() in told:
            found.append((entry / "cmdline").read_bytes().decode(errors="replace"))
    return found


def test_the_controller_gets_no_secret_of_the_server(server: RunningServer, sandbox: Sandbox) -> None:
    wait(lambda: served(sandbox), "echo is not served")
    for process in (*controllers(server), *server.children(PROVIDER)):
        told = Path(f"/proc/{process}/environ").read_text()
        assert "GPUAAS_DATABASE_URL" not in told
        assert account(server).client_secret not in told
    assert account(server).client_secret not in server.log_file.read_text()


class Killed(BaseException):
    """Ends a call as a kill does: nothing after it runs."""


async def test_publishing_goes_on_where_it_was_killed_and_an_upgrade_keeps_the_older_version(
    server: RunningServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, known = files("gpuaas_echo"), account(server)
    manifest = app.joinpath("manifest.yaml").read_text().replace("slug: echo", "slug: reverb")
    # Bytes of its own: those of echo are published by the server's own process at the same time.
    program = app.joinpath("echod").read_bytes() + b"\n# reverb\n"
    credentials = ServiceAccountCredentials(known.client_id, known.client_secret)
    left, send = 0, Transport.send

    async def send_and_die(self: Transport, request: Request) -> object:
        nonlocal left
        if left <= 0:  # who is dead sends nothing more, whichever of its tasks learned of it
            raise Killed
        answer = await send(self, request)
        left -= request.method != "GET"
        if left == 0:
            raise Killed
        return answer

    async with AsyncClient(server.url, credentials=credentials) as api:

        async def publish(version: str, content: bytes) -> str:
            source = tmp_path / version
            source.write_bytes(content)
            wanted = PlatformApp(
                manifest=manifest.replace("version: 0.1.0", f"version: {version}", 1),
                artifact=source,
                media_type="text/x",
            )
            digest = wanted.digest()
            pinned = wanted.manifest.replace(wanted.manifest.split("digest: ")[1].split(" ")[0], digest)
            declared = PlatformApp(manifest=pinned, artifact=source)
            accounts = ControllerAccounts(api, known.project_id, tmp_path)
            done = await Publication(api, known.project_id, declared, "gpuaas-reverb").ensure()
            key = await accounts.ensure("reverb", "reverb")
            await accounts.ensure_binding(key.account_id, "reverb")
            await accounts.ensure_kind_binding(key.account_id, "launchable")
            assert read_secret(key.secret_file)
            return done.status

        monkeypatch.setattr(Transport, "send", send_and_die)
        kills, changes, deadline = 0, 1, time.monotonic() + HANG
        while True:
            left = changes
            try:
                assert await publish("0.1.0", program) == "active"
                break
            except Killed:
                kills += 1
            assert time.monotonic() < deadline, f"not published after {kills} kills"
            left = 1_000
            artifact = [one async for one in api.artifacts.list(known.project_id, digest=digest_of(tmp_path / "0.1.0"))]
            # Until there is an artifact, which needs several; then after each. A key whose secret was never written down is
            # made again, so every fourth attempt lives for one change more.
            changes = 1 + (kills % 4 == 3) if artifact else changes + 1
        assert kills >= 10  # intent, upload, evidence, stages, version, activation, account, bindings
        monkeypatch.setattr(Transport, "send", send)
        assert await publish("0.2.0", program + b"\n# newer\n") == "active"
        versions = [
            (one.version, one.status)
            async for found in api.apps.list(known.project_id)
            if found.slug == "reverb"
            async for one in api.app_versions.list(known.project_id, found.id)
        ]
        assert versions == [("0.2.0", "active"), ("0.1.0", "active")]
        bound = [one.service_account_name async for one in api.controller_kind_bindings.list(known.project_id)]
        assert bound == ["reverb-controller"]
