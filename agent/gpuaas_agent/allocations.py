"""What the agent remembers of the allocations on its host, from provision until a clean verify.

An allocation with a record has been, or may have been, in a tenant's hands.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path

from gpuaas_agent import durable, protocol
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.specs import Grant, Shape


@dataclass(frozen=True)
class Marker:
    """A random text planted where a tenant's data lives; it must be gone after a wipe."""

    text: str
    paths: tuple[str, ...]


@dataclass(frozen=True)
class StoredGrant:
    grant_id: str
    public_key: str
    expires_at: str | None


@dataclass(frozen=True)
class AllocationRecord:
    allocation_id: str
    shape: Shape
    generation: int
    login_user: str
    principal: str = ""
    address: str = ""
    released: bool = False
    verified: bool = False
    baseline_digest: str = ""
    marker: Marker | None = None
    grants: tuple[StoredGrant, ...] = field(default=())
    drives: tuple[str, ...] = ()


class AllocationLedger:
    """One file an allocation; thread-safe. The files are read once: what is in memory counts, so
    a tenant who deletes a record on disk does not make a living agent forget.
    """

    def __init__(self, state_dir: Path) -> None:
        self._folder = durable.make_private_folder(state_dir / "allocations")
        self._lock = threading.RLock()
        found = (durable.read_json(path) for path in sorted(self._folder.glob("*.json")))
        records = [_record(raw) for raw in found if raw is not None]
        self._records = {record.allocation_id: record for record in records}

    def get(self, allocation_id: str) -> AllocationRecord | None:
        with self._lock:
            return self._records.get(allocation_id)

    def put(self, record: AllocationRecord) -> AllocationRecord:
        with self._lock:
            durable.write_json(self._path(record.allocation_id), asdict(record))
            self._records[record.allocation_id] = record
        return record

    def change(self, allocation_id: str, **fields: object) -> AllocationRecord | None:
        with self._lock:
            record = self.get(allocation_id)
            if record is None:
                return None
            changed = replace(record, **fields)  # type: ignore[arg-type]
            return self.put(changed) if changed != record else record

    def remove(self, allocation_id: str) -> None:
        with self._lock:
            durable.remove(self._path(allocation_id))
            self._records.pop(allocation_id, None)

    def all(self) -> list[AllocationRecord]:
        with self._lock:
            return list(self._records.values())

    def require_served(self, allocation_id: str) -> AllocationRecord:
        record = self.get(allocation_id)
        if record is None or record.released:
            raise TaskFailure(
                "allocation_not_here",
                "This host does not serve the allocation",
                "Provision it first.",
            )
        return record

    def unproven(self) -> list[AllocationRecord]:
        """Allocations that are here, or were and are not proven to be gone."""
        return [record for record in self.all() if not record.verified]

    def others_unproven(self, allocation_id: str) -> list[AllocationRecord]:
        return [record for record in self.unproven() if record.allocation_id != allocation_id]

    def forget_verified(self, except_for: str) -> None:
        """A verified record is kept until the next provision, so that a verify can be repeated."""
        with self._lock:
            for record in self.all():
                if record.verified and record.allocation_id != except_for:
                    self.remove(record.allocation_id)

    def _path(self, allocation_id: str) -> Path:
        return self._folder / f"{allocation_id}.json"


def stored_grants(grants: Iterable[Grant]) -> tuple[StoredGrant, ...]:
    return tuple(
        StoredGrant(
            grant.grant_id,
            grant.public_key,
            protocol.timestamp(grant.expires_at) if grant.expires_at else None,
        )
        for grant in grants
    )


def keys_taken_back(record: AllocationRecord, grants: Iterable[Grant]) -> list[str]:
    """Public keys that had a grant, and have none among these."""
    return sorted({grant.public_key for grant in record.grants} - {grant.public_key for grant in grants})


def live_grants(record: AllocationRecord, now: datetime) -> list[Grant]:
    grants = [
        Grant(
            entry.grant_id,
            entry.public_key,
            protocol.moment(entry.expires_at) if entry.expires_at else None,
        )
        for entry in record.grants
    ]
    return [grant for grant in grants if grant.expires_at is None or grant.expires_at > now]


def _record(raw: dict[str, object]) -> AllocationRecord:
    values: dict[str, object] = dict(raw)
    marker, grants, drives = raw.get("marker"), raw.get("grants"), raw.get("drives")
    if isinstance(marker, dict):
        values["marker"] = Marker(str(marker["text"]), tuple(marker["paths"]))
    if isinstance(grants, list):
        values["grants"] = tuple(StoredGrant(**grant) for grant in grants)
    if isinstance(drives, list):
        values["drives"] = tuple(str(drive) for drive in drives)
    return AllocationRecord(**values)  # type: ignore[arg-type]
