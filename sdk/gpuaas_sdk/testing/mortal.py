"""A controller that dies by its own kill -9 at chosen moments of its operations, and comes back under its name.

with mortal("my_app.controller:MyApp", stage.controller(), tmp_path, at=("worked",)) as replica:
    ...  # ask for operations: at every step the process dies once, with the work done and nothing said
    replica.deaths

The process below starts the controller anew after each death, as a service manager does; other replicas may run beside it.
"""

import asyncio
import ctypes
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

from gpuaas_sdk.controller import AppController, ControllerSettings, Line, Replica, connect
from gpuaas_sdk.controller.failures import Failure
from gpuaas_sdk.controller.line import Lease
from gpuaas_sdk.generated.models import ClaimedOperation, LeaseRenewed, Operation
from gpuaas_sdk.wire import Document

# In their order: nothing begun; a step announced; its work done, unsaid; said; all done, the end unsaid; the end said.
MOMENTS = ("claimed", "begun", "worked", "told", "ending", "ended")
_TOLD = {"running": "begun", "succeeded": "told"}
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG


@dataclass(frozen=True)
class Death:
    kind: str  # of the operation
    moment: str
    step: str


@dataclass(frozen=True)
class Mortal:
    journal: Path

    @property
    def deaths(self) -> list[Death]:
        lines = self.journal.read_text().splitlines() if self.journal.exists() else []
        return [Death(*json.loads(line)[2:]) for line in lines]


@contextmanager
def mortal(app: str, settings: ControllerSettings, folder: Path, at: Sequence[str] = MOMENTS) -> Iterator[Mortal]:
    """`app` is where the class is, as `module:Class`. It is made anew in each life, and without arguments."""
    unknown = set(at) - set(MOMENTS)
    if unknown:
        raise ValueError(f"no such moment: {', '.join(sorted(unknown))}")
    journal, secret = folder / f"{settings.replica}.deaths", folder / f"{settings.replica}.secret"
    secret.touch(0o600)
    secret.write_text(settings.client_secret)
    command = [sys.executable, "-m", "gpuaas_sdk.testing.mortal", app, str(journal), *at]
    with (folder / f"{settings.replica}.log").open("ab") as log:
        process = subprocess.Popen(command, env=_environment(settings, secret), stdout=log, stderr=log)
    try:
        yield Mortal(journal)
    finally:
        process.kill()  # the controller below goes with it
        process.wait(60)


def _environment(settings: ControllerSettings, secret: Path) -> dict[str, str]:
    told = {
        "GPUAAS_URL": settings.url,
        "GPUAAS_PROJECT": settings.project_id,
        "GPUAAS_CLIENT_ID": settings.client_id,
        "GPUAAS_CLIENT_SECRET_FILE": str(secret),
        "GPUAAS_REPLICA": settings.replica,
    }
    return {**os.environ, **told, **({"GPUAAS_CA_FILE": settings.ca_file} if settings.ca_file else {})}


@dataclass
class Fate:
    """Dies once at each moment of each operation: those that were died are in the journal, which outlives us."""

    journal: Path
    at: frozenset[str]
    reached: Counter[tuple[str, str]] = field(default_factory=Counter)  # in this life: operation, moment

    def meet(self, operation: Operation, moment: str, step: str = "") -> None:
        if moment not in self.at:
            return
        self.reached[operation.id, moment] += 1
        place = [operation.id, self.reached[operation.id, moment], operation.kind, moment, step]
        line = json.dumps(place)
        if self.journal.exists() and line in self.journal.read_text().splitlines():
            return
        with self.journal.open("a") as book:
            book.write(f"{line}\n")
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class _Line(Line):
    fate: Fate

    async def claim(self, operation_id: str) -> Lease | None:
        lease = await super().claim(operation_id)
        if lease is None:
            return None
        self.fate.meet(lease.claimed.operation, "claimed")
        return _Lease(self, lease.claimed, self.fate)


class _Lease(Lease):
    """Every word that is said about an operation goes through here, and nothing else tells its moments apart."""

    def __init__(self, line: Line, claimed: ClaimedOperation, fate: Fate) -> None:
        super().__init__(line, claimed)
        self._fate = fate

    async def report(self, steps: Sequence[Document], progress: Document | None) -> LeaseRenewed:
        for step in steps:
            if step["status"] == "succeeded":
                self._meet("worked", str(step["name"]))
        told = await super().report(steps, progress)
        for step in steps:
            if step["status"] in _TOLD:
                self._meet(_TOLD[str(step["status"])], str(step["name"]))
        return told

    async def complete(self, members: Sequence[Document], runtime: Document | None, access: Document | None) -> None:
        await self._say_the_rest()
        self._meet("ending")
        await super().complete(members, runtime, access)
        self._meet("ended")

    async def fail(self, failure: Failure, members: Sequence[Document]) -> None:
        await self._say_the_rest()
        self._meet("ending")
        await super().fail(failure, members)
        self._meet("ended")

    async def _say_the_rest(self) -> None:
        """The last step's end goes with the operation's, where nobody dies: here there is a moment between them."""
        if self._unsaid:
            await self.tell()

    def _meet(self, moment: str, step: str = "") -> None:
        self._fate.meet(self.claimed.operation, moment, step)


async def _live(app: AppController, settings: ControllerSettings, fate: Fate) -> None:
    async with connect(settings, app) as client:
        line = _Line(client, settings.project_id, settings.replica, fate)
        await Replica(app, line, concurrency=settings.concurrency).run()


def _lives(place: str, fate: Fate) -> int:
    """One life after the other, until one ends otherwise than by its own hand. Forked: a life must begin quickly."""
    module, _, name = place.partition(":")
    app, settings = getattr(importlib.import_module(module), name), ControllerSettings.from_environment()
    libc, parent = ctypes.CDLL(None), os.getpid()
    while True:
        child = os.fork()
        if child == 0:
            libc.prctl(_END_WITH_PARENT, signal.SIGKILL)
            if os.getppid() != parent:  # it has ended meanwhile: nobody would end this life
                os._exit(1)
            asyncio.run(_live(app(), settings, fate))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            return 1


if __name__ == "__main__":
    sys.exit(_lives(sys.argv[1], Fate(Path(sys.argv[2]), frozenset(sys.argv[3:]))))
