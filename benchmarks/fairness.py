"""What one tenant at all its limits costs another: allocate-to-active and revocation-to-host, against an idle platform."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import quantiles

import psycopg
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks import REPOSITORY
from benchmarks.busy_tenant import BusyOrder
from benchmarks.database import superuser
from benchmarks.figures import Figure, Size
from gpuaas_sdk import Client, NewAllocation, NewSshGrant
from gpuaas_sdk.testing import Sandbox
from gpuaas_server.kernel.settings import Settings
from system_support.server import RunningServer

NODES = 8
SAMPLES = 100
BUSY_GPUS = 16
BLOB_BYTES = 256 << 20
SETTLE = 120.0
WARM_UP = 15.0
LIMIT = 2.0
# The pace is the default one. Its burst is shorter, so that the busy tenant has spent it when the measurement begins; the one
# that is measured never needs more.
PACE = {
    "tenant_changes_per_second": str(Settings.model_fields["tenant_changes_per_second"].default),
    "tenant_change_burst": str(2 * SAMPLES),
}
HOW = f"""\
A real server (`gpuaas-server up`) with {NODES} × 8 simulated GPUs in a process of its own (the real agent protocol; tasks take
no time), two tenants, one run. First nobody else is there; then the other tenant does at once all that its limits allow:
4 uploads of {BLOB_BYTES >> 20} MiB (checked, then deleted), {BUSY_GPUS} create–release cycles at its GPU quota, 8 event
streams, sign-ins as fast as they are let; changes are held to the default pace ({PACE["tenant_changes_per_second"]} a second)
after a burst that is spent before, and uploads to their default pace. Its client runs on the same machine at the lowest
priority and writes nothing to its disk, as one elsewhere would cost nothing. Measured, {SAMPLES} times each, one at a time:
from the request for one GPU until the SDK knows that it is active; and from the request that deletes an SSH grant until the
host has reported that it is out. Ratio of the p99s."""


@dataclass(slots=True)
class Delays:
    """In milliseconds."""

    allocate: list[float] = field(default_factory=list)
    revoke: list[float] = field(default_factory=list)


@dataclass(slots=True)
class QuietTenant:
    """The one that is measured."""

    client: Client
    project_id: str
    database: psycopg.Connection[tuple[object, ...]]

    def allocate(self) -> tuple[str, float]:
        begun = time.perf_counter()
        made = self.client.allocations.create(self.project_id, NewAllocation(sku="h100-slice", gpu_count=1))[0]
        live = list(self.client.allocations.follow(self.project_id, [made.id], SETTLE))[-1]
        taken = (time.perf_counter() - begun) * 1e3
        if live.state != "active":
            raise RuntimeError(f"the allocation is {live.state}: {live.failure}")
        return made.id, taken

    def release(self, allocation_id: str) -> None:
        self.client.allocations.release(self.project_id, allocation_id)
        list(self.client.allocations.follow(self.project_id, [allocation_id], SETTLE))

    def revoke(self, allocation_id: str) -> float:
        until = datetime.now(UTC) + timedelta(hours=1)
        wanted = NewSshGrant(expires_at=until, public_key=_public_key())
        grant = self.client.ssh_access.create_grant(self.project_id, allocation_id, wanted)
        self._applied(allocation_id)
        begun = time.perf_counter()
        self.client.ssh_access.delete_grant(self.project_id, allocation_id, grant.id)
        self._applied(allocation_id)
        return (time.perf_counter() - begun) * 1e3

    def _applied(self, allocation_id: str) -> None:
        """Until the host has reported what it was last told about access."""
        deadline = time.monotonic() + SETTLE
        while time.monotonic() < deadline:
            found = self.database.execute(
                "SELECT access_wanted = access_sent AND phase IS NULL FROM allocations WHERE id = %s", (allocation_id,)
            ).fetchone()
            if found and found[0]:
                return
            time.sleep(0.002)
        raise RuntimeError("the host did not report")

    def measure(self, samples: int) -> Delays:
        delays = Delays()
        for number in range(samples + 1):
            allocation_id, allocated = self.allocate()
            revoked = self.revoke(allocation_id)
            self.release(allocation_id)
            if number:
                delays.allocate.append(allocated)
                delays.revoke.append(revoked)
        return delays


def _public_key() -> str:
    key = Ed25519PrivateKey.generate().public_key()
    return key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()


@contextmanager
def busy(sandbox: Sandbox, quick: bool) -> Iterator[None]:
    """The other tenant, in a process of its own, for as long as the block lasts."""
    sandbox.admin.quotas.set_tenant(sandbox.tenant_id, BUSY_GPUS, artifact_byte_limit=4 * BLOB_BYTES)
    credentials = sandbox.credentials("project_admin")
    size = (1 << 20) if quick else BLOB_BYTES
    order = BusyOrder(
        sandbox.server.url, credentials.username, str(credentials.password), sandbox.project_id, size, 4, BUSY_GPUS, 8
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.busy_tenant"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=REPOSITORY,
        start_new_session=True,
    )
    try:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the busy tenant has no voice")
        process.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
        process.stdin.flush()
        process.stdout.readline()
        time.sleep(0.5 if quick else WARM_UP)
        yield
        if process.poll() is not None:
            raise RuntimeError("the busy tenant ended before the measurement did")
    finally:
        process.kill()
        process.wait(10)


def delays(size: Size) -> tuple[Delays, Delays]:
    """Without the other tenant, and beside it."""
    samples = 2 if size.quick else SAMPLES
    with RunningServer.start(log_level="WARNING", token_minutes="60", **PACE) as server:
        quiet, other = Sandbox.create(server), Sandbox.create(server)
        quiet.offer()
        with quiet.simulated_fleet(NODES), superuser(server) as database:
            tenant = QuietTenant(quiet.person("project_admin"), quiet.project_id, database)
            idle = tenant.measure(samples)
            with busy(other, size.quick):
                return idle, tenant.measure(samples)


def _p99(values: list[float]) -> float:
    return quantiles(values, n=100, method="inclusive")[98]


def _figure(name: str, idle: list[float], beside: list[float]) -> Figure:
    before, after = _p99(idle), _p99(beside)
    note = f"p99 {after:.0f} ms beside it and {before:.0f} ms alone, medians {_p50(beside):.0f} and {_p50(idle):.0f} ms"
    return Figure(name, after / before, "×", LIMIT, at_least=False, note=note)


def _p50(values: list[float]) -> float:
    return quantiles(values, n=100, method="inclusive")[49]


def run(size: Size) -> list[Figure]:
    idle, beside = delays(size)
    return [
        _figure("allocate to active beside a tenant at its limits, against alone", idle.allocate, beside.allocate),
        _figure("revocation to host beside a tenant at its limits, against alone", idle.revoke, beside.revoke),
    ]
