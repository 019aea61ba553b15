"""A large blob from a file to the platform and back: every process that handles it needs as much memory as for a small one."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuaas_sdk.signatures import digest_of
from gpuaas_sdk.testing import RunningServer, Sandbox

SMALL, LARGE = 1 << 20, 256 << 20
ALLOWED = 64 << 20  # that a process may grow for the large one: a quarter of it
PARTS = ("api", "worker")  # of the platform: they receive, store, read and send the bytes
# A publisher's own process: it uploads a file, waits until the platform has read every byte, and downloads it again. Its last
# line tells the largest memory that it had.
PUBLISHER = """
import json, resource, sys
from pathlib import Path
from gpuaas_sdk import Client, PasswordCredentials
url, email, password, project, source, digest = sys.argv[1:]
client = Client(url, credentials=PasswordCredentials(email, password))
intent = client.publish_intents.create(project, "blob", "memory", size_bytes=Path(source).stat().st_size)
client.publish_intents.upload(intent, Path(source))
client.publish_intents.complete(project, intent.id, digest)
made = client.publish_intents.wait_until_checked(project, intent.id, 600.0)
assert made.artifact_id is not None, made
client.artifacts.wait_until_checked(project, made.artifact_id, 600.0)
copy = Path(source).with_suffix(".copy")
print(json.dumps([
    client.artifacts.download(project, made.artifact_id, copy),
    copy.stat().st_size,
    resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10,
]))
copy.unlink()
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """A platform of its own, so that its processes do nothing else."""
    with RunningServer.start() as server:
        yield Sandbox.create(server)


def publish(sandbox: Sandbox, folder: Path, size: int) -> int:
    """Send random bytes there and back; return the largest memory of the publisher's process."""
    source = folder / f"{size}.bin"
    with source.open("wb") as file:
        for _ in range(size >> 20):
            file.write(os.urandom(1 << 20))
    digest, server = digest_of(source), sandbox.server
    words = [server.url, server.admin_email, server.admin_password, sandbox.project_id, str(source), digest]
    ran = subprocess.run([sys.executable, "-c", PUBLISHER, *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    received, length, most = json.loads(ran.stdout)
    assert (received, length) == (digest, size)
    source.unlink()
    return int(most)


def processes(sandbox: Sandbox) -> dict[int, str]:
    return {pid: part for part in PARTS for pid in sandbox.server.children(part)}


def status(pid: int, field: str) -> int:
    """A process's own memory in bytes: VmRSS now, VmHWM at most since the last reset."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(f"{field}:")).split()[1]) << 10


def test_the_memory_of_every_process_is_the_same_for_a_small_and_a_large_blob(sandbox: Sandbox, tmp_path: Path) -> None:
    small = publish(sandbox, tmp_path, SMALL)
    known = processes(sandbox)
    assert set(known.values()) == set(PARTS)
    before = {pid: status(pid, "VmRSS") for pid in known}
    for pid in known:
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # the most that it had begins anew
    large = publish(sandbox, tmp_path, LARGE)
    assert processes(sandbox) == known, "a process ended meanwhile"
    grown = {f"{part} {pid}": status(pid, "VmHWM") - before[pid] for pid, part in known.items()}
    assert max(grown.values()) < ALLOWED, grown
    assert large - small < ALLOWED, (small, large)
