"""A controller process that kills itself with SIGKILL at chosen points of its operations and restarts under its name.

with crashing_replica("my_app.controller:MyApp", stage.controller(), tmp_path, at=("step_done",)) as replica:
    ...  # request operations: the process dies once in every step, after its work and before its report
    replica.crashes

A parent process starts the controller again after each crash, as a service manager does; other replicas may run beside it.
"""

import asyncio
import importlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.child_process import end_with_parent
from gpuaas_sdk.controller import AppController, ControllerClient, ControllerSettings, Replica, connect
from gpuaas_sdk.controller.failures import Failure
from gpuaas_sdk.controller.lease import Lease, RuntimeChange
from gpuaas_sdk.generated.models import ClaimedOperation, LeaseRenewed, Operation
from gpuaas_sdk.wire import Document

# In order of time: after the claim; after a step's start was reported, after its work, after its end was reported; before
# and after the end of the operation is reported.
CRASH_POINTS = ("claimed", "step_started", "step_done", "step_reported", "ending", "ended")
_REPORTED = {"running": "step_started", "succeeded": "step_reported"}


@dataclass(frozen=True)
class Crash:
    kind: str  # of the operation
    point: str
    step: str


@dataclass(frozen=True)
class CrashingReplica:
    journal: Path

    @property
    def crashes(self) -> list[Crash]:
        lines = self.journal.read_text().splitlines() if self.journal.exists() else []
        return [Crash(*json.loads(line)[2:]) for line in lines]


@contextmanager
def crashing_replica(
    app: str, settings: ControllerSettings, folder: Path, at: Sequence[str] = CRASH_POINTS
) -> Iterator[CrashingReplica]:
    """Run a replica that can crash. `app` is `module:Class`; each start of the process makes a new one, without arguments."""
    unknown = set(at) - set(CRASH_POINTS)
    if unknown:
        raise ValueError(f"no such crash point: {', '.join(sorted(unknown))}")
    journal, secret = folder / f"{settings.replica}.crashes", folder / f"{settings.replica}.secret"
    secret.touch(0o600)
    secret.write_text(settings.client_secret)
    command = [sys.executable, "-m", "gpuaas_sdk.testing.crashes", app, str(journal), *at]
    with (folder / f"{settings.replica}.log").open("ab") as log:
        process = subprocess.Popen(command, env=_environment(settings, secret), stdout=log, stderr=log)
    try:
        yield CrashingReplica(journal)
    finally:
        process.kill()  # its child, the controller, dies with it
        process.wait(60)


def _environment(settings: ControllerSettings, secret: Path) -> dict[str, str]:
    variables = {
        "GPUAAS_URL": settings.url,
        "GPUAAS_PROJECT": settings.project_id,
        "GPUAAS_CLIENT_ID": settings.client_id,
        "GPUAAS_CLIENT_SECRET_FILE": str(secret),
        "GPUAAS_REPLICA": settings.replica,
    }
    return {**os.environ, **variables, **({"GPUAAS_CA_FILE": settings.ca_file} if settings.ca_file else {})}


@dataclass
class CrashPlan:
    """Crashes once at each point of each operation. The journal outlives the process and has all crashes so far."""

    journal: Path
    at: frozenset[str]
    reached: Counter[tuple[str, str]] = field(default_factory=Counter)  # in this process: operation, point

    def crash_once(self, operation: Operation, point: str, step: str = "") -> None:
        if point not in self.at:
            return
        self.reached[operation.id, point] += 1
        crash = [operation.id, self.reached[operation.id, point], operation.kind, point, step]
        line = json.dumps(crash)
        if self.journal.exists() and line in self.journal.read_text().splitlines():
            return
        with self.journal.open("a") as journal:
            journal.write(f"{line}\n")
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class _CrashingClient(ControllerClient):
    plan: CrashPlan

    async def claim(self, operation_id: str, project_id: str | None = None) -> Lease | None:
        lease = await super().claim(operation_id, project_id)
        if lease is None:
            return None
        self.plan.crash_once(lease.claimed.operation, "claimed")
        return _CrashingLease(self.api, lease.project_id, lease.claimed, self.plan)


class _CrashingLease(Lease):
    """Every report about an operation goes through its lease, so all crash points are here."""

    def __init__(self, api: AsyncClient, project_id: str, claimed: ClaimedOperation, plan: CrashPlan) -> None:
        super().__init__(api, project_id, claimed)
        self._plan = plan

    async def send_report(
        self, steps: Sequence[Document], progress: Document | None, runtime: RuntimeChange | None = None
    ) -> LeaseRenewed:
        for step in steps:
            if step["status"] == "succeeded":
                self._crash_once("step_done", str(step["name"]))
        renewed = await super().send_report(steps, progress, runtime)
        for step in steps:
            if step["status"] in _REPORTED:
                self._crash_once(_REPORTED[str(step["status"])], str(step["name"]))
        return renewed

    async def complete(self, members: Sequence[Document], runtime: Document | None, access: Document | None) -> None:
        await self.flush_steps()  # usually sent with the end of the operation; here a crash may fall between the two
        self._crash_once("ending")
        await super().complete(members, runtime, access)
        self._crash_once("ended")

    async def fail(self, failure: Failure, members: Sequence[Document] = (), *, with_steps: bool = True) -> None:
        if with_steps:
            await self.flush_steps()
        self._crash_once("ending")
        await super().fail(failure, members, with_steps=with_steps)
        self._crash_once("ended")

    def _crash_once(self, point: str, step: str = "") -> None:
        self._plan.crash_once(self.claimed.operation, point, step)


async def _run_controller(app: AppController, settings: ControllerSettings, plan: CrashPlan) -> None:
    async with connect(settings, app) as api:
        client = _CrashingClient(api, settings.project_id, settings.replica, plan)
        await Replica(app, client, concurrency=settings.concurrency).run()


def _restart_until_stopped(app_name: str, plan: CrashPlan) -> int:
    """Forks one controller after the other until one ends other than by SIGKILL. A fork starts faster than a new process."""
    module, _, name = app_name.partition(":")
    app, settings = getattr(importlib.import_module(module), name), ControllerSettings.from_environment()
    bind = end_with_parent()
    while True:
        child = os.fork()
        if child == 0:
            bind()
            asyncio.run(_run_controller(app(), settings, plan))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            return 1


if __name__ == "__main__":
    sys.exit(_restart_until_stopped(sys.argv[1], CrashPlan(Path(sys.argv[2]), frozenset(sys.argv[3:]))))
