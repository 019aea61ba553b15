"""Restores the agent's state folder and configuration after a tenant was root: from the signed task and from this
process's memory. Everything else is removed, and the verification checks for it again.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_agent import durable
from gpuaas_agent.allocations import AllocationLedger
from gpuaas_agent.config import Config
from gpuaas_agent.expectations import Restore
from gpuaas_agent.host import restart
from gpuaas_agent.host.removal import remove, unlock_below
from gpuaas_agent.state import TaskJournal

_FOLDERS = ("resources", "allocations", "baseline", "baseline/blobs", "terminals")
_FILES = ("agent.key", "agent.key.next", "node.json", restart.NAME, "baseline/baseline.json")
# Facts about the node's key: they change with each rotation and do not affect trust.
_KEY_LIFE = ("key_begins_at", "key_expires_at", "key_generation")


def _nothing() -> dict[str, object]:
    return {}


@dataclass(frozen=True)
class OwnState:
    config: Config
    ledger: AllocationLedger
    journal: TaskJournal
    # The content of node.json as this process knows it: the node's identity and trust.
    identity: Callable[[], dict[str, object]] = field(default=_nothing)

    def rewrite(self, allocation_id: str, restore: Restore, blobs: Collection[str]) -> str:
        """Write the folder as it should be during the wipe of this allocation, and remove everything else."""
        with durable.WRITING:
            unlock_below(str(self._root))
            unlock_below(str(self.config.source.parent))
            self._write_identity(restore)
            self._write_configuration(restore)
            self.journal.keep_only({allocation_id, *(record.allocation_id for record in self.ledger.served())})
            self.ledger.keep_only(allocation_id)
            removed = sum(self._repair(path, why) for path, why in self._foreign(blobs))
        return f"{removed} entries removed"

    def foreign_entries(self, blobs: Collection[str], baseline_sha256: str) -> tuple[int, list[str]]:
        """Return (number of entries, entries that the agent did not write or that were changed since)."""
        with durable.WRITING:
            found = [f"{why} {path}" for path, why in self._foreign(blobs)]
            for folder, files in (("resources", self.journal.files()), ("allocations", self.ledger.files())):
                found += [
                    f"changed {self._root / folder / name}"
                    for name, content in files.items()
                    if _read(self._root / folder / name) != content
                ]
            if hashlib.sha256(_read(self._root / "baseline/baseline.json")).hexdigest() != baseline_sha256:
                found.append(f"changed {self._root}/baseline/baseline.json")
            return sum(len(folders) + len(names) for _, folders, names in os.walk(self._root)), found

    @property
    def _root(self) -> Path:
        return self.config.state_dir

    def _write_identity(self, restore: Restore) -> None:
        path = self._root / "node.json"
        try:
            stored = durable.read_json(path) or {}
        except (OSError, ValueError):
            stored = {}
        life = {key: stored[key] for key in _KEY_LIFE if isinstance(stored.get(key), str | int)}
        wanted = {**self.identity(), **(restore.identity or {}), **life}
        anchors = wanted.get("tls_anchors")
        if restore.identity is not None and isinstance(anchors, list) and anchors:
            # The next heartbeat brings a signed statement; an earlier one must not take precedence over it.
            wanted.update({"ca_pem": "".join(str(pem) for pem in anchors), "anchors_issued_at_ms": 0})
        wanted["urls"] = wanted.get("urls") or self.identity().get("urls", [])
        _clear_for_file(path)
        durable.write_json(path, wanted)

    def _write_configuration(self, restore: Restore) -> None:
        text = self.config.text if restore.configuration is None else restore.configuration
        if text is not None and _read(self.config.source) != text.encode():
            _clear_for_file(self.config.source)
            durable.write_bytes(self.config.source, text.encode(), 0o600)

    def _repair(self, path: str, why: str) -> bool:
        """Remove a foreign entry, or correct the owner and mode of the agent's own. Returns whether it was removed."""
        if path == str(self._root):
            return False
        if why == "left" or os.path.dirname(path) == str(self._root / "baseline/blobs"):
            return remove(path)
        os.chown(path, os.geteuid(), os.getegid(), follow_symlinks=False)
        os.chmod(path, 0o700 if os.path.isdir(path) else 0o600)
        return False

    def _foreign(self, blobs: Collection[str]) -> list[tuple[str, str]]:
        """Return (path, reason) of every entry, at any depth, that the agent did not write, or that was changed."""
        files = {*_FILES, *(f"baseline/blobs/{name}" for name in blobs)}
        files |= {f"resources/{name}" for name in self.journal.files()}
        files |= {f"allocations/{name}" for name in self.ledger.files()}
        found = [(str(self._root), "changed")] if self._root.is_symlink() else []
        for parent, folders, names in os.walk(self._root):
            for name in sorted(folders + names):
                path = os.path.join(parent, name)
                relative = os.path.relpath(path, self._root)
                why = self._fault(path, relative, files)
                if why:
                    found.append((path, why))
                    if why == "left" and name in folders:
                        folders.remove(name)  # the whole folder is foreign
        return found

    def _fault(self, path: str, relative: str, files: set[str]) -> str:
        status = os.lstat(path)
        if stat.S_ISDIR(status.st_mode):
            if relative not in _FOLDERS:
                return "left"
            return "" if (status.st_uid, stat.S_IMODE(status.st_mode)) == (os.geteuid(), 0o700) else "changed"
        if relative not in files or not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            return "left"
        if status.st_uid != os.geteuid():
            return "changed"
        folder, _, name = relative.rpartition("/")
        if folder == "baseline/blobs":
            return "" if hashlib.sha256(_read(Path(path))).hexdigest() == name else "changed"
        return "" if stat.S_IMODE(status.st_mode) == 0o600 else "changed"


def _read(path: Path) -> bytes:
    """Return the content of a regular file; empty for anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with open(descriptor, "rb") as file:
        return file.read() if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""


def _clear_for_file(path: Path) -> None:
    """Remove a folder at this path: a rename cannot replace it with a file."""
    if path.is_dir() and not path.is_symlink():
        remove(str(path))
