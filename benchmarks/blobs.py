"""Measures the download of a large blob from a bucket by a host's own programs, against curl from the same bucket."""

import asyncio
import json
import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path

import httpx

from benchmarks import REPOSITORY
from benchmarks.figures import Figure, Series, Size
from gpuaas_sdk.controller.hostside import installer_command
from gpuaas_server.artifacts.parts import Layout, PartedUpload
from gpuaas_server.artifacts.s3_store import S3Store

HOW = """\
A blob of random bytes in an S3 server (SeaweedFS) on this machine, sent in parts of 64 MiB. By hand: `curl` with a presigned
URL into a file, and `sync` of the file, since the platform's file is on the disk too. Platform: the program that a host runs
for `host.put` of an artifact; it asks the platform (a redirect, as the API gives it), streams from the bucket, hashes and
writes. The two take turns, and the first of each is not counted; `--blob-gib` is the size. The memory is the largest
resident set of the host's program."""
NAME = "download of a blob by a host, against curl"
PART = 64 << 20
RECORDS = "/var/lib/gpuaas-apps"
SECONDS = 3600


@contextmanager
def _bucket(folder: Path) -> Iterator[S3Store]:
    """The S3 server of the tests, with room for a large blob."""
    sys.path.insert(0, str(REPOSITORY / "server" / "tests"))
    buckets = import_module("tests_support.buckets")
    with buckets.running_s3(folder, secrets.token_hex(16), volume_mib=1024, volumes=40) as server:
        yield S3Store(server.bucket())


@contextmanager
def _platform(redirect: str) -> Iterator[str]:
    """What the API answers to a host that pulls from a bucket."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(307)
            self.send_header("Location", redirect)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def _fill(store: S3Store, size: int) -> tuple[str, str]:
    """Put random bytes into the bucket, in parts; return their key and digest."""
    name = await store.begin_parts("prj_bench", "pub_bench")
    upload = PartedUpload("prj_bench", "pub_bench", name, Layout(size, min(PART, size // 2)))
    block = os.urandom(PART)
    async with httpx.AsyncClient(timeout=300) as client:
        for part in upload.layout.parts(0, upload.layout.count):
            ticket = store.part_ticket(upload, part, 3600)
            content = (part.number.to_bytes(8, "big") + block)[: part.size_bytes]
            (await client.put(ticket.url, content=content, headers=ticket.headers)).raise_for_status()
    key = await store.join_parts(upload)
    measured = None if key is None else await store.measure(key)
    if key is None or measured is None or measured.size_bytes != size:
        raise RuntimeError("the bucket does not have what was sent")
    return key, measured.digest


def _curl(url: str, target: Path) -> float:
    begun = time.perf_counter()
    subprocess.run(["curl", "--silent", "--show-error", "--fail", "--output", target, url], check=True, timeout=SECONDS)
    subprocess.run(["sync", "--data", target], check=True, timeout=SECONDS)
    taken = time.perf_counter() - begun
    target.unlink()
    return taken


def _host(origin: str, digest: str, target: Path, records: Path) -> tuple[float, int]:
    """Return the seconds, and the largest resident set of the program in bytes."""
    *words, text = installer_command()
    command = [sys.executable, *words[1:], text.replace(RECORDS, str(records))]
    pull = {"origins": [origin], "trust": [], "url": "/pull", "username": "rts", "password": "none"}
    request = {"action": "put_artifact", "instance": "ins_bench", "path": str(target), "owner": _me(), "mode": 0o644}
    line = json.dumps({**request, "digest": digest, "pull": pull}) + "\n"
    begun = time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(line)
    child.stdin.flush()
    answer = json.loads(child.stdout.readline())
    taken = time.perf_counter() - begun
    peak = next(one for one in Path(f"/proc/{child.pid}/status").read_text().splitlines() if one.startswith("VmHWM"))
    child.stdin.close()
    child.wait(60)
    if answer != {"done": {"changed": True}}:
        raise RuntimeError(f"the host's program answered {answer}")
    target.unlink()
    return taken, int(peak.split()[1]) << 10


def _me() -> str:
    return pwd.getpwuid(os.getuid()).pw_name


def run(size: Size) -> list[Figure]:
    total = (16 << 20) if size.quick else size.blob_gib << 30
    with tempfile.TemporaryDirectory(prefix="gpuaas-bench-blobs-") as name:
        folder = Path(name)
        if shutil.disk_usage(folder).free < 3 * total + (2 << 30):
            return [Figure(NAME, float("nan"), "×", note=f"not measured: {3 * total >> 30} GiB of disk are needed")]
        return _measure(folder, total, 1 if size.quick else 3)


def _measure(folder: Path, total: int, rounds: int) -> list[Figure]:
    series, peaks = Series(), list[int]()
    (folder / "s3").mkdir()
    with _bucket(folder / "s3") as store:
        key, digest = asyncio.run(_fill(store, total))
        url = store.download_ticket(key, "", SECONDS).url
        with _platform(url) as origin:
            for number in range(rounds + 1):
                by_hand = _curl(url, folder / "by-hand")
                taken, peak = _host(origin, digest, folder / "by-host", folder / "records")
                if number:
                    series.add("curl", by_hand)
                    series.add("host", taken)
                    peaks.append(peak)
    speeds = {one: total / series.median(one) / (1 << 20) for one in ("curl", "host")}
    note = f"{total / (1 << 30):g} GiB; {speeds['host']:.0f} MiB/s against {speeds['curl']:.0f} MiB/s"
    return [
        Figure(NAME, series.ratio("curl", "host"), "×", 0.9, note=note),
        Figure("memory of the host's program", max(peaks) / (1 << 20), "MiB", 100, at_least=False),
    ]
