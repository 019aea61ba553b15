"""What the agent remembers of the allocations on its host, from provision until a clean verify.

An allocation with a record has been, or may have been, in a tenant's hands.
"""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from gpuaas_agent import durable
from gpuaas_agent.specs import Shape


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


class AllocationLedger:
    """One file an allocation; thread-safe."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = durable.make_private_folder(state_dir / "allocations")
        self._lock = threading.RLock()

    def get(self, allocation_id: str) -> AllocationRecord | None:
        raw = durable.read_json(self._path(allocation_id))
        return _record(raw) if raw is not None else None

    def put(self, record: AllocationRecord) -> AllocationRecord:
        with self._lock:
            durable.write_json(self._path(record.allocation_id), asdict(record))
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

    def all(self) -> list[AllocationRecord]:
        found = (durable.read_json(path) for path in sorted(self._folder.glob("*.json")))
        return [_record(raw) for raw in found if raw is not None]

    def _path(self, allocation_id: str) -> Path:
        return self._folder / f"{allocation_id}.json"


def _record(raw: dict[str, object]) -> AllocationRecord:
    values: dict[str, object] = dict(raw)
    marker, grants = raw.get("marker"), raw.get("grants")
    if isinstance(marker, dict):
        values["marker"] = Marker(str(marker["text"]), tuple(marker["paths"]))
    if isinstance(grants, list):
        values["grants"] = tuple(StoredGrant(**grant) for grant in grants)
    return AllocationRecord(**values)  # type: ignore[arg-type]
