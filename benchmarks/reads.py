"""Authenticated reads of an allocation, against a bare FastAPI + PyJWT + psycopg handler that gives the same answer."""

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import jwt
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks import REPOSITORY
from benchmarks.claims import insist, port_of
from benchmarks.database import socket_dir
from benchmarks.figures import Figure, Series, Size
from benchmarks.fleet import SeededFleet
from benchmarks.load import Order, drive, request
from benchmarks.peer import AUDIENCE
from benchmarks.people import member_token
from gpuaas_sdk import NewAllocation
from gpuaas_sdk.testing import Sandbox
from system_support.server import RunningServer, free_port

HOW = """\
GET of one allocation as a `project_member`, 4 requests in flight, one api process. Peer: one uvicorn process (uvloop,
httptools) with a FastAPI handler that checks an EdDSA token with PyJWT, reads the same row through a psycopg pool on the
same PostgreSQL and returns the same fields as a pydantic model; no policy, no row-level security, no correlation, no
metrics, no audit. Platform and peer take turns; the figure is the median of the rounds' ratios."""


@dataclass(frozen=True, slots=True)
class Peer:
    port: int
    token: str


@contextmanager
def running_peer(server: RunningServer) -> Iterator[Peer]:
    key, port = Ed25519PrivateKey.generate(), free_port()
    url = f"postgresql://postgres@/gpuaas?host={socket_dir(server)}"
    environment = {**os.environ, "PEER_KEY": key.public_key().public_bytes_raw().hex()}
    command = [sys.executable, "-m", "benchmarks.peer", str(port), url]
    process = subprocess.Popen(command, env=environment, cwd=REPOSITORY)
    try:
        _wait(port)
        payload = {"sub": "usr_peer", "aud": AUDIENCE, "exp": int(time.time()) + 7200}
        yield Peer(port, jwt.encode(payload, key, algorithm="EdDSA"))
    finally:
        process.terminate()
        process.wait(10)


def _wait(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1)
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the peer did not start")


def run(size: Size) -> list[Figure]:
    series = Series()
    with RunningServer.start(log_level="WARNING", node_lost_seconds="86400", token_minutes="60") as server:
        sandbox = Sandbox.create(server)
        sandbox.offer()
        SeededFleet(server, min(size.nodes, 100), sandbox.tenant_id, sandbox.project_id)
        made = sandbox.admin.allocations.create(sandbox.project_id, NewAllocation(sku="h100-slice", gpu_count=1))[0]
        path = f"/api/v1/projects/{sandbox.project_id}/allocations/{made.id}"
        token = member_token(sandbox)
        with running_peer(server) as peer:
            for _ in range(size.rounds):
                for name, port, bearer in (("peer", peer.port, peer.token), ("platform", port_of(server), token)):
                    outcome = drive(Order(port, request("GET", path, bearer), size.seconds))
                    insist(outcome, "200")
                    series.add(name, outcome.per_second)
    note = f"{series.median('platform'):.0f}/s against {series.median('peer'):.0f}/s"
    return [Figure("read against a bare FastAPI handler", series.ratio("platform", "peer"), limit=0.6, note=note)]
