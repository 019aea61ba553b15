"""The agent's records of the allocations on its host, from provision until a clean verification.

A record means that a tenant may have used the host. A tenant who was root may also have written the record itself. After
a start, a record therefore grants no access until its signed tasks are verified; it still counts as a trace of a tenant.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path

from gpuaas_agent import durable, log, protocol, specs
from gpuaas_agent.failures import SpecInvalid, TaskFailure
from gpuaas_agent.protocol import Envelope, SignedTask
from gpuaas_agent.specs import AccessSpec, Grant, Shape
from gpuaas_agent.state import Verify, task_from_disk

_MARKER_TEXT = re.compile(r"[0-9a-f]{64}")
_MARKER_FOLDER = re.compile(r"/var/tmp|/var/lib|/usr/local/share|/home/[a-z][a-z0-9_-]{0,31}")  # noqa: S108


@dataclass(frozen=True)
class Marker:
    """A random text in folders that hold tenant data; a wipe must remove it."""

    text: str
    paths: tuple[str, ...]

    @property
    def is_valid(self) -> bool:
        """Tell whether the agent could have chosen this marker: a forged record must not redirect a later write."""
        places = (path.rpartition("/") for path in self.paths)
        return _MARKER_TEXT.fullmatch(self.text) is not None and all(
            _MARKER_FOLDER.fullmatch(folder) and name == f".gpuaas-{self.text[:12]}" for folder, _, name in places
        )


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
    proofs: tuple[SignedTask, ...] = ()  # the signed provision task, and the last signed change of access

    @cached_property
    def envelopes(self) -> tuple[Envelope | None, ...]:
        """The envelope of each proof, in the same order. A damaged proof has none and proves nothing."""
        return tuple(_parse_envelope(proof) for proof in self.proofs)

    def with_proof(self, task: SignedTask | None) -> AllocationRecord:
        """Return the record with this task instead of the earlier one of its kind."""
        if task is None:
            return self
        newer = _parse_envelope(task)
        kind = newer.kind if newer is not None else None
        pairs = zip(self.proofs, self.envelopes, strict=True)
        others = (proof for proof, envelope in pairs if envelope is not None and envelope.kind != kind)
        return replace(self, proofs=(*others, task))

    def with_access(self, access: AccessSpec, task: SignedTask | None) -> AllocationRecord:
        """Return the record with the access that a signed task defines."""
        changed = replace(
            self, login_user=access.login_user, principal=access.principal, grants=stored_grants(access.grants)
        )
        return changed.with_proof(task)


class AllocationLedger:
    """Keeps a file per allocation; thread-safe. The files are read once at the start. Afterwards memory counts, so a tenant
    who deletes a file cannot make a running agent forget the allocation.
    """

    def __init__(self, state_dir: Path) -> None:
        self._folder = durable.make_private_folder(state_dir / "allocations")
        self._lock = threading.RLock()
        found = (_read(path) for path in sorted(self._folder.glob("*.json")))
        records = [record for record in found if record is not None]
        self._records = {record.allocation_id: record for record in records}
        self._unconfirmed = set(self._records)

    def confirm(self, verify: Verify) -> None:
        """Accept the records of an earlier agent as far as the platform signed them; other records grant no access."""
        with self._lock:
            for allocation_id in sorted(self._unconfirmed):
                confirmed = _confirmed(self._records[allocation_id], verify)
                if confirmed is None:
                    log.warning("allocation_record_not_trusted", allocation_id=allocation_id)
                else:
                    self._records[allocation_id] = confirmed
                    self._unconfirmed.discard(allocation_id)

    def is_confirmed(self, allocation_id: str) -> bool:
        """Tell whether the platform signed the record of this allocation."""
        with self._lock:
            return allocation_id in self._records and allocation_id not in self._unconfirmed

    def keep_only(self, allocation_id: str) -> None:
        """Forget other allocations that are proven clean or not signed, and write the rest again from memory."""
        with self._lock:
            for record in self.all():
                other = record.allocation_id != allocation_id
                if other and (record.verified or not self.is_confirmed(record.allocation_id)):
                    self.remove(record.allocation_id)
                else:
                    durable.write_json(self._path(record.allocation_id), asdict(record))

    def files(self) -> dict[str, bytes]:
        """Return the expected files of the folder: name → content."""
        with self._lock:
            return {f"{name}.json": durable.encode_json(asdict(record)) for name, record in self._records.items()}

    def get(self, allocation_id: str) -> AllocationRecord | None:
        with self._lock:
            return self._records.get(allocation_id)

    def put(self, record: AllocationRecord) -> AllocationRecord:
        with self._lock:
            durable.write_json(self._path(record.allocation_id), asdict(record))
            self._records[record.allocation_id] = record
            if record.proofs:
                self._unconfirmed.discard(record.allocation_id)
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
            self._unconfirmed.discard(allocation_id)

    def all(self) -> list[AllocationRecord]:
        with self._lock:
            return list(self._records.values())

    def require_served(self, allocation_id: str) -> AllocationRecord:
        record = self.require_here(allocation_id)
        if not self.is_confirmed(allocation_id):
            raise _not_here()
        return record

    def require_here(self, allocation_id: str) -> AllocationRecord:
        """Return a record that may be unconfirmed; only for the signed task that confirms it."""
        record = self.get(allocation_id)
        if record is None or record.released:
            raise _not_here()
        return record

    def unproven(self) -> list[AllocationRecord]:
        """Return allocations that use this host, or used it and are not proven clean."""
        return [record for record in self.all() if not record.verified]

    def served(self) -> list[AllocationRecord]:
        """Return allocations that tenants may use now, by tasks that the platform signed."""
        with self._lock:
            return [
                record
                for record in self.unproven()
                if not record.released and record.allocation_id not in self._unconfirmed
            ]

    def others_unproven(self, allocation_id: str) -> list[AllocationRecord]:
        return [record for record in self.unproven() if record.allocation_id != allocation_id]

    def forget_verified(self, except_for: str) -> None:
        """Forget verified records. They are kept until the next provision, so that a verification can be repeated."""
        with self._lock:
            for record in self.all():
                if record.verified and record.allocation_id != except_for:
                    self.remove(record.allocation_id)

    def _path(self, allocation_id: str) -> Path:
        return self._folder / f"{allocation_id}.json"


def _parse_envelope(proof: SignedTask) -> Envelope | None:
    """Return None for a proof that was damaged on disk."""
    try:
        return protocol.parse_envelope(proof.envelope)
    except protocol.EnvelopeInvalid:
        return None


def _not_here() -> TaskFailure:
    return TaskFailure("allocation_not_here", "This host does not serve the allocation", "Provision it first.")


def stored_grants(grants: Iterable[Grant]) -> tuple[StoredGrant, ...]:
    return tuple(
        StoredGrant(
            grant.grant_id,
            grant.public_key,
            protocol.timestamp(grant.expires_at) if grant.expires_at else None,
        )
        for grant in grants
    )


def revoked_keys(record: AllocationRecord, grants: Iterable[Grant]) -> list[str]:
    """Return public keys that had a grant and have none among `grants`."""
    return sorted({grant.public_key for grant in record.grants} - {grant.public_key for grant in grants})


def revokes_access(record: AllocationRecord, access: AccessSpec) -> bool:
    """Tell whether this change revokes access that the last signed task still granted."""
    envelopes = [envelope for envelope in record.envelopes if envelope is not None]
    if len(envelopes) < len(record.proofs):
        return True
    last = max(envelopes, key=lambda envelope: envelope.generation, default=None)
    try:
        before = specs.parse_access(last.spec).revoked_serials if last is not None else ()
    except SpecInvalid:
        return True
    return bool(set(access.revoked_serials) - set(before)) or bool(revoked_keys(record, access.grants))


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


def _read(path: Path) -> AllocationRecord | None:
    """Read a record without its access: who may log in comes from signed tasks only."""
    try:
        raw = durable.read_json(path)
        record = _record(raw or {})
        if f"{record.allocation_id}.json" != path.name or not specs.is_allocation_id(record.allocation_id):
            raise ValueError("the record belongs to another allocation")
    except (OSError, ValueError, KeyError, TypeError) as problem:
        log.warning("allocation_record_damaged", path=str(path), message=str(problem))
        return None
    return replace(record, grants=(), drives=())


def _confirmed(record: AllocationRecord, verify: Verify) -> AllocationRecord | None:
    """Return the record with everything that its signed tasks define, or None if they do not prove it."""
    try:
        envelopes = sorted((verify(proof) for proof in record.proofs), key=lambda envelope: envelope.generation)
        if any(envelope.kind not in ("provision", "sync_access") for envelope in envelopes):
            return None
        provisions = [specs.parse_provision(one.spec) for one in envelopes if one.kind == "provision"]
        access = [specs.parse_access(envelope.spec) for envelope in envelopes]
    except (protocol.EnvelopeInvalid, SpecInvalid):
        return None
    if {one.allocation_id for one in access} != {record.allocation_id}:
        return None
    slots = [slot for provision in provisions for slot in provision.slots]
    return replace(
        record,
        shape=access[-1].shape,
        generation=envelopes[0].generation,
        login_user=access[-1].login_user,
        principal=access[-1].principal,
        grants=stored_grants(access[-1].grants),
        drives=tuple(slot.nvme_device for slot in slots if slot.nvme_device is not None),
    )


def _record(raw: dict[str, object]) -> AllocationRecord:
    values: dict[str, object] = dict(raw)
    marker, grants, proofs = raw.get("marker"), raw.get("grants"), raw.get("proofs")
    if isinstance(marker, dict):
        known = Marker(str(marker["text"]), tuple(str(path) for path in marker["paths"]))
        values["marker"] = known if known.is_valid else None
    if isinstance(grants, list):
        values["grants"] = tuple(StoredGrant(**grant) for grant in grants)
    values["drives"] = ()
    values["proofs"] = tuple(task_from_disk(proof) for proof in (proofs if isinstance(proofs, list) else []))
    return AllocationRecord(**values)  # type: ignore[arg-type]
