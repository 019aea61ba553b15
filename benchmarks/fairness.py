"""What one tenant at all its limits costs another: allocate-to-SSH and revocation-to-host, against an idle platform."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import quantiles

import psycopg

from benchmarks import REPOSITORY
from benchmarks.busy_streams import StreamOrder
from benchmarks.busy_tenant import BusyOrder, new_public_key, take_lowest_priority
from benchmarks.claims import port_of
from benchmarks.database import superuser
from benchmarks.figures import Figure, Size
from benchmarks.load import Order, request
from gpuaas_sdk import Client, NewAllocation, NewSshGrant
from gpuaas_sdk.testing import Sandbox
from gpuaas_server.kernel.settings import Settings
from system_support.server import RunningServer

NODES = 8
SAMPLES = 100
BUSY_GPUS = 16
ACCESSES = 4  # of its GPUs
BLOB_BYTES = 256 << 20
READS = 4  # in flight, of each kind
SETTLE = 120.0
BEGIN = 600.0
WARM_UP = 30.0
WORK = {"artifact_delete", "allocation_release", "ssh_certificate_create", "ssh_grant_delete"}
Database = psycopg.Connection[tuple[object, ...]]
LIMIT = 2.0


def _default(name: str) -> int:
    return int(Settings.model_fields[name].default)


UPLOADS = _default("uploads_per_tenant") + 2  # at any time, two are refused
PEOPLE = _default("streams_per_tenant") // _default("streams_per_caller")
STREAMS = _default("streams_per_caller") - 8  # the rest are for those that follow its allocations
# The pace is the default one. Its burst is shorter, so that the busy tenant has spent it when the measurement begins; the one
# that is measured never needs more.
PACE = {
    "tenant_changes_per_second": str(Settings.model_fields["tenant_changes_per_second"].default),
    "tenant_change_burst": str(6 * SAMPLES),
}
HOW = f"""\
A real server (`gpuaas-server up`) with {NODES} × 8 simulated GPUs in a process of its own (the real agent protocol; tasks take
no time), two tenants, one run. First nobody else is there; then the other tenant does at once, in two projects:
- {UPLOADS} uploads of {BLOB_BYTES >> 20} MiB (checked, then deleted), two more than it may have, at its pace of bytes
- {BUSY_GPUS - ACCESSES} create–release cycles, and {ACCESSES} allocations whose SSH certificates and grants are made and
  revoked all the time: together its GPU quota
- {PEOPLE * STREAMS:,} event streams of {PEOPLE} people: its cap, but for those that follow its allocations
- {2 * READS} reads in flight (lists of allocations and of events), which nothing limits
- sign-ins as fast as they are let

Its changes are held to the default pace ({PACE["tenant_changes_per_second"]} a second) after a burst that is spent before. Its
clients run on the same machine at the lowest priority and write nothing to its disk, as those elsewhere would cost nothing.
Measured, {SAMPLES} times each, one at a time: from the request for one GPU until the SDK has an SSH certificate for it; and
from the request that deletes an SSH grant until the host has reported that it is out. Ratio of the p99s."""


@dataclass(slots=True)
class Delays:
    """In milliseconds."""

    allocate: list[float] = field(default_factory=list)
    revoke: list[float] = field(default_factory=list)
    others_changes: float = 0.0  # a second, of the busy tenant meanwhile


@dataclass(slots=True)
class QuietTenant:
    """The one that is measured."""

    client: Client
    project_id: str
    database: Database

    def allocate(self) -> tuple[str, float]:
        key, begun = new_public_key(), time.perf_counter()
        made = self.client.allocations.create(self.project_id, NewAllocation(sku="h100-slice", gpu_count=1))[0]
        live = list(self.client.allocations.follow(self.project_id, [made.id], SETTLE))[-1]
        if live.state != "active":
            raise RuntimeError(f"the allocation is {live.state}: {live.failure}")
        self.client.ssh_access.create_certificate(self.project_id, made.id, key)
        return made.id, (time.perf_counter() - begun) * 1e3

    def release(self, allocation_id: str) -> None:
        self.client.allocations.release(self.project_id, allocation_id)
        list(self.client.allocations.follow(self.project_id, [allocation_id], SETTLE))

    def revoke(self, allocation_id: str) -> float:
        until = datetime.now(UTC) + timedelta(hours=1)
        wanted = NewSshGrant(expires_at=until, public_key=new_public_key())
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


@contextmanager
def busy(sandbox: Sandbox, database: Database, quick: bool) -> Iterator[None]:
    """The other tenant, in processes of its own, for as long as the block lasts."""
    size = (1 << 20) if quick else BLOB_BYTES
    sandbox.admin.quotas.set_tenant(sandbox.tenant_id, BUSY_GPUS, artifact_byte_limit=UPLOADS * size)
    credentials = sandbox.credentials("tenant_admin")
    second = sandbox.admin.projects.create(sandbox.tenant_id, "second", "Second").id
    projects = [sandbox.project_id, second]
    with Client(sandbox.server.url) as client:
        token = client.sign_in(credentials).access_token
    everything = BusyOrder(
        sandbox.server.url,
        token,
        credentials.username,
        str(credentials.password),
        projects,
        size,
        UPLOADS,
        BUSY_GPUS - ACCESSES,
        ACCESSES,
    )
    port, people = port_of(sandbox.server), [sandbox.bearer("tenant_admin") for _ in range(PEOPLE)]
    watches = [_watch(person, projects[number % 2]) for number, person in enumerate(people)]
    lists = [f"/api/v1/projects/{project}/{page}" for project, page in zip(projects, PAGES, strict=True)]
    with ExitStack() as stack:
        running = [
            stack.enter_context(_client("busy_streams", StreamOrder(port, watches, 2 if quick else STREAMS), "open")),
            stack.enter_context(_client("busy_tenant", everything, "busy")),
            *(
                stack.enter_context(_client("load", Order(port, request("GET", path, token), DAY, READS, READS)))
                for path in lists
            ),
        ]
        _await_all_work(database, sandbox.tenant_id)
        time.sleep(0.5 if quick else WARM_UP)
        yield
        if any(process.poll() is not None for process in running):
            raise RuntimeError("the busy tenant ended before the measurement did")


def _await_all_work(database: Database, tenant_id: str) -> None:
    """Wait until the busy tenant has come around to everything: what it has not begun costs nobody anything."""
    deadline = time.monotonic() + BEGIN
    while time.monotonic() < deadline:
        done = database.execute("SELECT DISTINCT action FROM audit_records WHERE tenant_id = %s", (tenant_id,))
        if {str(action) for (action,) in done.fetchall()} >= WORK:
            return
        time.sleep(0.1)
    raise RuntimeError("the busy tenant did not begin")


def _changes(database: Database, tenant_id: str) -> int:
    found = database.execute("SELECT count(*) FROM audit_records WHERE tenant_id = %s", (tenant_id,)).fetchone()
    return int(str(found[0])) if found else 0


PAGES = ("allocations?limit=100", "events?limit=100")
DAY = 86_400.0


def _watch(token: str, project_id: str) -> str:
    head = request("GET", f"/api/v1/projects/{project_id}/events", token).removesuffix("\r\n")
    return head + "Accept: text/event-stream\r\n\r\n"


@contextmanager
def _client(module: str, order: BusyOrder | StreamOrder | Order, word: str = "") -> Iterator["subprocess.Popen[bytes]"]:
    """Run a process of the busy tenant. It says the word when it has begun."""
    process = subprocess.Popen(
        [sys.executable, "-m", f"benchmarks.{module}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=REPOSITORY,
        start_new_session=True,
        preexec_fn=take_lowest_priority,
    )
    try:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the busy tenant has no voice")
        process.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
        if module == "load":  # it reads all of its input first
            process.stdin.close()
        else:
            process.stdin.flush()
        if word and process.stdout.readline() != word.encode() + b"\n":
            raise RuntimeError(f"{module} did not begin")
        yield process
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
            with busy(other, database, size.quick):
                before, begun = _changes(database, other.tenant_id), time.monotonic()
                beside = tenant.measure(samples)
                done = _changes(database, other.tenant_id) - before
                beside.others_changes = done / (time.monotonic() - begun)
                return idle, beside


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
        _figure(
            "allocate to SSH certificate beside a tenant at its limits, against alone", idle.allocate, beside.allocate
        ),
        _figure("revocation to host beside a tenant at its limits, against alone", idle.revoke, beside.revoke),
        Figure("recorded changes of the tenant at its limits", beside.others_changes, "/s"),
    ]
