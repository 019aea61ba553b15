"""Defines what a noun gives to the worker: a reconciler, which decides between reading and writing, or a job without that."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass

Snapshot = TypeVar("Snapshot")
Decision = TypeVar("Decision")
Outcome = TypeVar("Outcome")


@dataclass(frozen=True, slots=True)
class Wait:
    """A decision that several nouns share: there is nothing to do before this time, unless somebody wakes the row.

    None: nothing more is to come.
    """

    until: datetime | None = None


@runtime_checkable
class Reconciler(Protocol, Generic[Snapshot, Decision]):
    """Loads a snapshot, decides the next step (a pure function), and stores it."""

    kind: str

    async def load(self, connection: Connection, subject: str) -> Snapshot | None: ...
    def decide(self, snapshot: Snapshot, now: datetime) -> Decision: ...
    async def apply(self, tx: Tx, snapshot: Snapshot, decision: Decision) -> datetime | None: ...


@runtime_checkable
class ActingReconciler(Reconciler[Snapshot, Decision], Protocol):
    """A reconciler that does something outside the database, which no transaction can take back."""

    async def act(self, platform: Platform, snapshot: Snapshot, decision: Decision) -> Decision: ...


@runtime_checkable
class BatchReconciler(Reconciler[Snapshot, Decision], Protocol):
    """A reconciler with many small rows: it loads what it needs for all of them in one statement.

    The rows are stored in the order of the answer, so that the reconciler decides in which order it locks what they share.
    """

    async def load_many(self, connection: Connection, subjects: Sequence[str]) -> dict[str, Snapshot]: ...


class Job(Protocol):
    """Does what the subject needs in one transaction, under the locks that it takes itself. It returns when to run again.

    It suits work in which nothing is decided, or in which a pure function of its noun decides about rows that are locked
    first.
    """

    kind: str

    async def run(self, tx: Tx, subject: str) -> datetime | None: ...


@runtime_checkable
class ActingJob(Protocol, Generic[Snapshot, Outcome]):
    """Does something outside the database for every snapshot, and stores what came of it. Nothing is decided in between."""

    kind: str

    async def load(self, connection: Connection, subject: str) -> Snapshot | None: ...
    async def act(self, platform: Platform, snapshot: Snapshot) -> Outcome: ...
    async def apply(self, tx: Tx, snapshot: Snapshot, outcome: Outcome) -> datetime | None: ...


WorkerStep = Reconciler[Any, Any] | Job | ActingJob[Any, Any]
