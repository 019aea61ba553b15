"""A real S3 server of one process, with one bucket and one key that may do everything with it."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx

from gpuaas_sdk.testing import free_port
from gpuaas_server.artifacts.s3 import Bucket, presign
from tests_support.parts import part

BUCKET = "artifacts"
ACCESS_KEY = "tester"
START_SECONDS = 60.0


@dataclass
class S3Server:
    url: str
    filer: str
    secret_key: str
    process: subprocess.Popen[bytes]

    def bucket(self, secret_key: str | None = None, url: str | None = None) -> Bucket:
        """The bucket, also as it is reached by another `url`."""
        return Bucket(f"{url or self.url}/{BUCKET}", "us-east-1", ACCESS_KEY, secret_key or self.secret_key)

    def kept(self) -> list[bytes]:
        """The bytes of every object in the bucket, seen from behind: not by the protocol that is tested."""
        return list(self._kept(f"/buckets/{BUCKET}"))

    def _kept(self, directory: str) -> Iterator[bytes]:
        listed = httpx.get(
            f"{self.filer}{directory}/", headers={"Accept": "application/json"}, timeout=60
        ).raise_for_status()
        for entry in listed.json()["Entries"] or ():
            if entry["Mode"] & 1 << 31:  # a directory, as Go's file modes have it
                yield from self._kept(entry["FullPath"])
            else:
                yield httpx.get(f"{self.filer}{entry['FullPath']}", timeout=60).raise_for_status().content

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(60)


@contextmanager
def running_s3(directory: Path, secret_key: str, volume_mib: int = 64, volumes: int = 10) -> Iterator[S3Server]:
    program = part("weed")
    keys = directory / "s3.json"
    who = {
        "name": ACCESS_KEY,
        "credentials": [{"accessKey": ACCESS_KEY, "secretKey": secret_key}],
        "actions": ["Admin"],
    }
    keys.write_text(json.dumps({"identities": [who]}))
    kinds = [f"{name}.port{kind}" for name in ("master", "volume", "filer", "s3") for kind in ("", ".grpc")]
    ports = {kind: free_port() for kind in kinds}
    command = [program, "server", f"-dir={directory}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"]
    command += [f"-{kind}={port}" for kind, port in ports.items()]
    command += [f"-s3.config={keys}", "-s3.port.iceberg=0", "-s3.port.lance=0", f"-volume.max={volumes}"]
    command += ["-master.telemetry=false", f"-master.volumeSizeLimitMB={volume_mib}"]
    with (directory / "s3.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=directory)
    url, filer = f"http://127.0.0.1:{ports['s3.port']}", f"http://127.0.0.1:{ports['filer.port']}"
    server = S3Server(url, filer, secret_key, process)
    try:
        _make_bucket(server)
        yield server
    finally:
        server.stop()


def _make_bucket(server: S3Server) -> None:
    root = Bucket(server.url, "us-east-1", ACCESS_KEY, server.secret_key)
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with suppress(httpx.TransportError):
            if httpx.put(presign(root, "PUT", BUCKET, datetime.now(UTC), 300), timeout=60).status_code == 200:
                return
        time.sleep(0.05)
    raise RuntimeError("the S3 server did not start")
