"""The baseline: the state of a host before its tenant (files, accounts, processes, ports, mounts, units), and copies of
the files that a wipe must be able to restore.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gpuaas_agent import durable
from gpuaas_agent.commands import Deadline
from gpuaas_agent.host import kernel_state, manifest, mounts, ports, processes, removal, under_mounts, units

COPIED = (
    "/etc/",
    "/root/",
    "/usr/local/",
    "/opt/",
    "/var/spool/cron/",
    "/usr/lib/systemd/",
    "/usr/lib/udev/",
    "/var/lib/dpkg/",
    "/var/lib/pam/",
    "/var/lib/systemd/",
    "/var/lib/logrotate/",
    "/var/lib/dbus/",
    "/home/",
)
_LARGEST_COPY = 4 << 20


@dataclass(frozen=True)
class LiveState:
    """Holds what runs on the host; read again after a proven wipe, when the files are known to be unchanged."""

    boot_id: str
    instances: frozenset[str]
    likenesses: frozenset[str]
    ports: frozenset[str]
    mounts: tuple[str, ...]
    units: frozenset[str]
    run_entries: frozenset[str]
    kernel: frozenset[str] | None = None  # None in a baseline of an older release


@dataclass(frozen=True)
class Baseline:
    files: manifest.Manifest
    unit_files: frozenset[str]
    live: LiveState
    under_mounts: manifest.Manifest | None = None  # None in a baseline of an older release
    run_files: dict[str, str] | None = None  # None in a baseline of an older release

    def knows_process(self, process: processes.Process) -> bool:
        """Tell whether the baseline has this very process, or, after a reboot of the host, one of the same kind."""
        if self.live.boot_id == processes.boot_id():
            return process.instance in self.live.instances
        return process.likeness in self.live.likenesses

    def explains_process(self, process: processes.Process) -> bool:
        """Tell whether the baseline has this process or one of the same kind, such as a restarted service."""
        return process.instance in self.live.instances or process.likeness in self.live.likenesses


@dataclass(frozen=True)
class AgentFolders:
    """The agent's own folders, which change during its work; a tenant may still hide files there."""

    state_dir: str
    slice_dir: str

    @property
    def excluded(self) -> tuple[str, ...]:
        return self.state_dir, self.slice_dir

    def leftover_slices(self) -> list[str]:
        """Return slices that are still here: a wiped host has none. A separate check covers the state folder."""
        return [] if not os.path.lexists(self.slice_dir) else removal.entries_of(self.slice_dir)

    def mount_points(self) -> list[mounts.Mount]:
        return mounts.stable(mounts.table(), ("/run/netns",))


def observe_live(folders: AgentFolders, deadline: Deadline) -> LiveState:
    running = processes.snapshot()
    return LiveState(
        boot_id=processes.boot_id(),
        instances=frozenset(process.instance for process in running),
        likenesses=frozenset(process.likeness for process in running),
        ports=frozenset(ports.listening()),
        mounts=tuple(sorted(mount.label for mount in folders.mount_points())),
        units=frozenset(units.present(deadline)),
        run_entries=frozenset(os.listdir("/run")),
        kernel=kernel_state.observe(deadline),
    )


def observe(folders: AgentFolders, deadline: Deadline) -> Baseline:
    return Baseline(
        files=manifest.scan(folders.excluded),
        unit_files=frozenset(units.files()),
        live=observe_live(folders, deadline),
        under_mounts=under_mounts.scan(),
        run_files=units.run_files(),
    )


class BaselineStore:
    """The baseline on disk. The server knows its digest, so that a changed baseline is detected."""

    def __init__(self, state_dir: Path) -> None:
        self._folder = state_dir / "baseline"
        self._loaded: tuple[str, Baseline] | None = None

    @property
    def blobs(self) -> Path:
        return self._folder / "blobs"

    def exists(self) -> bool:
        return (self._folder / "baseline.json").exists()

    def save(self, baseline: Baseline) -> str:
        durable.make_private_folder(self.blobs)
        self._copy_contents(baseline.files)
        return self._write(baseline)

    def refresh_live(self, live: LiveState) -> str:
        _, baseline = self.load()
        return self._write(replace(baseline, live=live))

    def load(self) -> tuple[str, Baseline]:
        """Return (digest, baseline). The baseline is read only once per process."""
        if self._loaded is None:
            data = (self._folder / "baseline.json").read_bytes()
            self._loaded = (hashlib.sha256(data).hexdigest(), _decode(data))
        return self._loaded

    def _write(self, baseline: Baseline) -> str:
        data = _encode(baseline)
        durable.write_bytes(self._folder / "baseline.json", data)
        digest = hashlib.sha256(data).hexdigest()
        self._loaded = (digest, baseline)
        return digest

    def _copy_contents(self, files: manifest.Manifest) -> None:
        wanted = copied_contents(files)
        for name in os.listdir(self.blobs):
            if name not in wanted:
                (self.blobs / name).unlink()
        for digest, path in wanted.items():
            target = self.blobs / digest
            if not target.exists():
                shutil.copyfile(path, target.with_suffix(".new"))
                target.with_suffix(".new").chmod(0o600)
                os.replace(target.with_suffix(".new"), target)
        durable.sync_folder(self.blobs)


def copied_contents(files: manifest.Manifest) -> dict[str, str]:
    """Return digest → path of each file content that is kept for a restore."""
    return {
        entry.content: path
        for path, entry in files.items()
        if entry.kind == "file" and entry.content and entry.size <= _LARGEST_COPY and path.startswith(COPIED)
    }


def _encode(baseline: Baseline) -> bytes:
    live = {
        name: sorted(value) if isinstance(value, frozenset) else value for name, value in asdict(baseline.live).items()
    }
    return json.dumps(
        {
            "files": _rows(baseline.files),
            "under_mounts": None if baseline.under_mounts is None else _rows(baseline.under_mounts),
            "unit_files": sorted(baseline.unit_files),
            "run_files": baseline.run_files,
            "live": live,
        },
        separators=(",", ":"),
    ).encode(errors="surrogateescape")


def _rows(files: manifest.Manifest) -> dict[str, list[object]]:
    return {path: list(vars(entry).values()) for path, entry in files.items()}


def _entries(rows: dict[str, list[Any]]) -> manifest.Manifest:
    return {path: manifest.Entry(*values) for path, values in rows.items()}


def _decode(data: bytes) -> Baseline:
    raw = json.loads(data)
    live = raw["live"]
    return Baseline(
        files=_entries(raw["files"]),
        under_mounts=None if raw.get("under_mounts") is None else _entries(raw["under_mounts"]),
        unit_files=frozenset(raw["unit_files"]),
        run_files=raw.get("run_files"),
        live=LiveState(
            boot_id=live["boot_id"],
            instances=frozenset(live["instances"]),
            likenesses=frozenset(live["likenesses"]),
            ports=frozenset(live["ports"]),
            mounts=tuple(live["mounts"]),
            units=frozenset(live["units"]),
            run_entries=frozenset(live["run_entries"]),
            kernel=frozenset(live["kernel"]) if live.get("kernel") is not None else None,
        ),
    )
