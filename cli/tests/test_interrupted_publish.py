"""`artifacts publish` and the api are killed in the middle; the repeated command sends what is missing and nothing else."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuaas_sdk.testing import Sandbox
from system_support.server import RunningServer

PART = 5 << 20
SECONDS = 180.0
CONTENT = os.urandom(4 * PART + 1000)


@pytest.fixture(scope="module")
def slow_server() -> Iterator[RunningServer]:
    """A server that takes bytes slowly, so that there is time to kill."""
    pace = {"upload_part_bytes": str(PART), "tenant_upload_bytes_per_second": str(4 << 20)}
    with RunningServer.start(**pace) as running:
        yield running


def gpuaas(sandbox: Sandbox, *arguments: str) -> subprocess.Popen[str]:
    token = sandbox.bearer("project_admin")
    signed_in = {"GPUAAS_URL": sandbox.server.url, "GPUAAS_TOKEN": token}
    command = [sys.executable, "-m", "gpuaas_cli", "artifacts", *arguments, "--project", sandbox.project_id]
    return subprocess.Popen(
        command, env={**os.environ, **signed_in}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for_parts(sandbox: Sandbox, number: int) -> int:
    """Wait until so many parts have arrived, and return how many there are."""
    intents, deadline = sandbox.admin.publish_intents, time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        for intent in intents.list(sandbox.project_id):
            received = sum(part.received for part in intents.parts(sandbox.project_id, intent.id).parts)
            if received >= number:
                return received
        time.sleep(0.05)
    raise AssertionError("no part arrived")


def test_a_killed_publish_goes_on_where_it_stopped(slow_server: RunningServer, tmp_path: Path) -> None:
    sandbox = Sandbox.create(slow_server)
    file = tmp_path / "weights.bin"
    file.write_bytes(CONTENT)
    first = gpuaas(sandbox, "publish", str(file), "-o", "json")
    wait_for_parts(sandbox, 2)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    for pid in slow_server.children("api"):
        os.kill(pid, signal.SIGKILL)
    slow_server.wait_ready()
    arrived = wait_for_parts(sandbox, 2)
    second = gpuaas(sandbox, "publish", str(file), "-o", "json")
    out, err = second.communicate(timeout=SECONDS)
    assert second.returncode == 0, err
    shown = [int(one) for one in re.findall(r"(\d+)% of", err)]
    # What has arrived is passed over part by part; bytes that are sent show in smaller steps.
    assert shown[:arrived] == [100 * number * PART // len(CONTENT) for number in range(1, arrived + 1)], err
    assert len(list(sandbox.admin.publish_intents.list(sandbox.project_id))) == 1
    target = tmp_path / "fetched"
    artifact = next(iter(sandbox.admin.artifacts.list(sandbox.project_id)))
    assert sandbox.admin.artifacts.download(sandbox.project_id, artifact.id, target) == artifact.digest
    assert target.read_bytes() == CONTENT
    assert artifact.id in out


def test_an_unfinished_publish_is_listed_and_cancelled(slow_server: RunningServer) -> None:
    sandbox = Sandbox.create(slow_server)
    intent = sandbox.admin.publish_intents.create(sandbox.project_id, "blob", "rest", size_bytes=3 * PART)
    out, err = gpuaas(sandbox, "unfinished").communicate(timeout=SECONDS)
    assert intent.id in out, err
    assert sandbox.admin.quotas.project(sandbox.project_id).artifact_bytes_used == 3 * PART
    out, err = gpuaas(sandbox, "cancel", intent.id).communicate(timeout=SECONDS)
    assert "cancelled" in out, err
    assert sandbox.admin.quotas.project(sandbox.project_id).artifact_bytes_used == 0
