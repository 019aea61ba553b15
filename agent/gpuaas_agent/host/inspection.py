"""Inspects what an app left behind. Each check reports what it looked for, what it found, and what the baseline had.

The platform judges the result. An inspection only reads, so it can be repeated at any time. Its evidence is bounded and
contains names, never the content of a file or the arguments of a process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from gpuaas_agent.commands import Deadline
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.footprint import Footprint, matching, under, unit_matching
from gpuaas_agent.host import app_processes, containers
from gpuaas_agent.host.inspection_target import InspectionTarget
from gpuaas_agent.printable import printable
from gpuaas_agent.specs import InspectSpec

Depth = Literal["stopped", "gone"]
UNIT_FOLDERS = ("/etc/systemd/system", "/run/systemd/system", "/run/systemd/transient", "/usr/local/lib/systemd/system")
CRON_FOLDERS = ("/etc/cron.d", "/etc/cron.hourly", "/etc/cron.daily", "/etc/cron.weekly", "/etc/cron.monthly")
CRON_TABLES = "/var/spool/cron/crontabs"
MOST_FINDINGS = 20
_LONGEST = 200
_MOST_WALKED = 20_000
_SETTLE_SECONDS, _PAUSE_SECONDS = 5.0, 0.25


@dataclass(frozen=True)
class InspectionFinding:
    """Something that exists. `why` is the matching rule; `known` means that it existed before the tenant came."""

    item: str
    why: str
    known: bool

    def wire(self) -> dict[str, object]:
        return {"item": _plain(self.item), "why": _plain(self.why), "known": self.known}


@dataclass
class InspectionCheck:
    name: str
    entries: tuple[str, ...]
    found: list[InspectionFinding] = field(default_factory=list)
    not_in_footprint: list[str] = field(default_factory=list)  # new since the baseline, and no leftover
    examined: int = 0
    problem: str = ""

    @property
    def settled(self) -> bool:
        return not self.problem and all(one.known for one in self.found)

    def wire(self) -> dict[str, object]:
        """Return the check for the wire. Unknown findings come first, so that the bound never hides them."""
        found = sorted(self.found, key=lambda one: one.known)
        return {
            "name": self.name,
            "entries": [entry[:_LONGEST] for entry in self.entries],
            "found": [one.wire() for one in found[:MOST_FINDINGS]],
            "left": sum(not one.known for one in found),
            "not_in_footprint": [_plain(line) for line in self.not_in_footprint[:MOST_FINDINGS]],
            "examined": self.examined,
            "problem": _plain(self.problem),
        }


@dataclass(frozen=True)
class Inspection:
    target: InspectionTarget
    footprint: Footprint
    depth: Depth
    instance_id: str
    login_user: str
    revoked_serials: tuple[int, ...] = ()

    @staticmethod
    def of(spec: InspectSpec, target: InspectionTarget, login_user: str) -> Inspection:
        return Inspection(target, spec.footprint, spec.depth, spec.instance_id, login_user, spec.revoked_serials)

    def run_until_settled(
        self, deadline: Deadline, seconds: float = _SETTLE_SECONDS
    ) -> tuple[list[InspectionCheck], int]:
        """Repeat the checks while something is left: a stopped process needs a moment to end. Returns (checks, runs)."""
        limit, times = deadline.at_most(seconds), 1
        checks = self.run_checks()
        while not all(check.settled for check in checks) and limit.remaining() > _PAUSE_SECONDS:
            time.sleep(_PAUSE_SECONDS)
            checks, times = self.run_checks(), times + 1
        return checks, times

    def run_checks(self) -> list[InspectionCheck]:
        runners: dict[str, Callable[[InspectionCheck], None]] = {
            "units": self._units,
            "processes": self._processes,
            "ports": self._ports,
            "containers": self._containers,
            "cron": self._cron,
            "credentials": self._credentials,
            "paths": self._paths,
            "users": self._users,
            "mounts": self._mounts,
            "authorized_keys": self._authorized_keys,
        }
        return [
            _run_check(check, runners[check.name])
            for check in requested_checks(self.footprint, self.depth, self.revoked_serials)
        ]

    def _units(self, check: InspectionCheck) -> None:
        running = self.target.units()
        for unit in sorted(running):
            pattern, known = unit_matching(self.footprint.units, unit), self.target.baseline.has_unit(unit)
            if pattern is not None:
                check.found.append(InspectionFinding(f"{unit} is loaded", pattern, known))
            elif not known:
                check.not_in_footprint.append(unit)
        check.examined = len(running)
        if self.depth == "gone":
            for path in self._unit_files(check):
                pattern = unit_matching(self.footprint.units, path.rpartition("/")[2])
                if pattern is not None:
                    check.found.append(InspectionFinding(path, pattern, self.target.baseline.has_path(path)))

    def _unit_files(self, check: InspectionCheck) -> Iterator[str]:
        for folder in UNIT_FOLDERS:
            names = self.target.files.names(folder)
            check.examined += len(names)
            for name in names:
                yield f"{folder}/{name}"
                if name.endswith((".wants", ".requires")):
                    yield from (f"{folder}/{name}/{inner}" for inner in self.target.files.names(f"{folder}/{name}"))

    def _processes(self, check: InspectionCheck) -> None:
        running = self.target.processes()
        check.examined = len(running)
        ours = app_processes.find_app_processes(running, self.footprint, self._new_uids(), self.instance_id)
        for process in running:
            why, known = ours.get(process.pid), self.target.baseline.has_process(process)
            if why is not None:
                check.found.append(InspectionFinding(app_processes.describe(process), why, known))
            elif not known:
                check.not_in_footprint.append(app_processes.describe(process))

    def _ports(self, check: InspectionCheck) -> None:
        open_now = self.target.ports()
        check.examined = len(open_now)
        for endpoint in sorted(open_now):
            protocol, number = endpoint.partition(" ")[0], endpoint.rpartition(":")[2]
            known = self.target.baseline.has_port(endpoint)
            if f"{number}/{protocol}" in self.footprint.ports:
                check.found.append(InspectionFinding(endpoint, f"{number}/{protocol}", known))
            elif not known:
                check.not_in_footprint.append(endpoint)

    def _containers(self, check: InspectionCheck) -> None:
        """Find containers. A stopped app may keep stopped containers; a removed app keeps none."""
        homes, running = [home for _, home in self._list_homes()], self.target.processes()
        for one in containers.on_record(self.target.files, homes):
            check.examined += 1
            runs = any(one.identifier in process.group + process.command for process in running)
            pattern, state = matching(self.footprint.containers, one.name), "running" if runs else "not running"
            if pattern is None:
                check.not_in_footprint.append(f"{one.name} ({state})")
            elif runs or self.depth == "gone":
                check.found.append(InspectionFinding(f"{one.name} ({state})", pattern, False))
        if self.depth == "gone":
            self._images(check, homes)

    def _images(self, check: InspectionCheck, homes: list[str]) -> None:
        """Find images that are named as the app's containers are, in the host's own namespace of names."""
        for name in containers.named_images(self.target.files, homes):
            check.examined += 1
            pattern = matching(self.footprint.containers, name.rpartition("/")[2].partition(":")[0])
            if name.startswith("localhost/") and pattern is not None:
                check.found.append(InspectionFinding(f"image {name}", pattern, False))

    def _cron(self, check: InspectionCheck) -> None:
        for folder in (*CRON_FOLDERS, CRON_TABLES):
            for name in self.target.files.names(folder):
                check.examined += 1
                path = f"{folder}/{name}"
                known = self.target.baseline.has_same_file(path)
                why = matching(self.footprint.cron, name) if folder != CRON_TABLES else None
                why = why or (None if known else self._names_the_app(path))
                if why is not None:
                    check.found.append(InspectionFinding(path, why, known))
                elif not known:
                    check.not_in_footprint.append(path)

    def _names_the_app(self, path: str) -> str | None:
        """Return why a new cron table belongs to the app: it mentions a footprint path or belongs to a footprint user."""
        folder, _, name = path.rpartition("/")
        if folder == CRON_TABLES and name in self.footprint.users:
            return f"the table of {name}"
        text = (self.target.files.read(path) or b"").decode(errors="replace")
        prefixes = (entry.partition("*")[0] for entry in self.footprint.paths)
        return next((f"mentions {prefix}" for prefix in prefixes if prefix in text), None)

    def _credentials(self, check: InspectionCheck) -> None:
        refused = self.target.revoked_serials()
        check.examined = len(self.revoked_serials)
        for serial in self.revoked_serials:
            if not any(first <= serial <= last for first, last in refused):
                check.found.append(
                    InspectionFinding(f"certificate {serial} still opens", "revoked by the platform", False)
                )

    def _paths(self, check: InspectionCheck) -> None:
        for entry in self.footprint.paths:
            for path in self._expanded(entry):
                check.examined += 1
                kind, known = self.target.files.kind(path), self.target.baseline.has_path(path)
                if kind == "folder" and known:  # an old folder may contain new entries
                    check.found += [InspectionFinding(inner, entry, False) for inner in self._new_under(path, check)]
                elif kind is not None:
                    check.found.append(InspectionFinding(path, entry, known))

    def _expanded(self, entry: str) -> list[str]:
        if "*" not in entry:
            return [entry]
        folder, _, _ = entry.rpartition("/")
        paths = (f"{folder}/{name}" for name in self.target.files.names(folder or "/"))
        return [path for path in paths if under((entry,), path)]

    def _new_under(self, folder: str, check: InspectionCheck) -> list[str]:
        """Return the topmost new entries below an old folder, up to a bound; a folder that is too large raises."""
        before = check.examined
        found, waiting = list[str](), [folder]
        while waiting and len(found) < MOST_FINDINGS:
            here = waiting.pop()
            for name in self.target.files.names(here):
                check.examined += 1
                if check.examined - before > _MOST_WALKED:
                    raise ValueError(f"{folder} has too many entries to inspect: name the app's own paths in it")
                path = f"{here}/{name}"
                if not self.target.baseline.has_path(path):
                    found.append(path)
                elif self.target.files.kind(path) == "folder":
                    waiting.append(path)
        return found

    def _users(self, check: InspectionCheck) -> None:
        for name, home in self._list_homes():
            check.examined += 1
            known = self._was_there(name)
            if name in self.footprint.users:
                check.found.append(InspectionFinding(f"{name} ({home})", name, known))
            elif not known:
                check.not_in_footprint.append(name)

    def _mounts(self, check: InspectionCheck) -> None:
        mounted = self.target.mounts()
        check.examined = len(mounted)
        for mount in mounted:
            known = self.target.baseline.has_mount(mount)
            why = under(self.footprint.mounts, mount.point) or under(self.footprint.paths, mount.point)
            if why is not None:
                check.found.append(InspectionFinding(mount.point, why, known))
            elif not known:
                check.not_in_footprint.append(mount.point)

    def _authorized_keys(self, check: InspectionCheck) -> None:
        """Find keys that an app's accounts accept. Keys of the login user belong to the tenant and are no leftovers."""
        for name, home in self._list_homes():
            for file in ("authorized_keys", "authorized_keys2"):
                path = f"{home.rstrip('/')}/.ssh/{file}"
                check.examined += 1
                if self.target.files.exists(path) and not self.target.baseline.has_same_file(path):
                    if name in self.footprint.users and not self._was_there(name):
                        check.found.append(InspectionFinding(path, name, False))
                    else:
                        check.not_in_footprint.append(path)

    def _list_homes(self) -> list[tuple[str, str]]:
        return [(name, home) for name, _, home in self._accounts()]

    def _accounts(self) -> list[tuple[str, int, str]]:
        text = self.target.files.read("/etc/passwd")
        if text is None:
            raise FileNotFoundError(2, "the account file is missing", "/etc/passwd")
        rows = (line.split(":") for line in text.decode(errors="replace").splitlines())
        return [(row[0], int(row[2]), row[5]) for row in rows if len(row) > 6 and row[2].isdigit()]

    def _new_uids(self) -> frozenset[int]:
        """Return the uids of accounts that the app created. A process of an older account may not be the app's."""
        named = [row for row in self._accounts() if row[0] in self.footprint.users]
        return frozenset(uid for name, uid, _ in named if uid and not self._was_there(name))

    def _was_there(self, user: str) -> bool:
        """Tell whether an account existed before; the platform itself creates the login user."""
        return user == self.login_user or self.target.baseline.has_user(user)


def _plain(text: str) -> str:
    return printable(text, _LONGEST)


def requested_checks(footprint: Footprint, depth: Depth, revoked_serials: tuple[int, ...]) -> list[InspectionCheck]:
    """Return the checks for a depth. `stopped`: nothing runs or will start. `gone`: nothing is left at all."""
    checks = [
        InspectionCheck("units", footprint.units),
        InspectionCheck("processes", footprint.processes),
        InspectionCheck("ports", footprint.ports),
        InspectionCheck("containers", footprint.containers),
        InspectionCheck("cron", footprint.cron),
        InspectionCheck("credentials", tuple(str(serial) for serial in revoked_serials)),
    ]
    if depth == "gone":
        checks += [
            InspectionCheck("paths", footprint.paths),
            InspectionCheck("users", footprint.users),
            InspectionCheck("mounts", footprint.mounts),
            InspectionCheck("authorized_keys", footprint.users),
        ]
    return checks


def empty_checks(spec: InspectSpec) -> list[InspectionCheck]:
    """Return the checks of a target that has nothing in it, such as a simulated host."""
    return requested_checks(spec.footprint, spec.depth, spec.revoked_serials)


def _run_check(check: InspectionCheck, run: Callable[[InspectionCheck], None]) -> InspectionCheck:
    """Run one check; a check that fails reports its problem and proves nothing."""
    try:
        run(check)
    except (OSError, ValueError, TaskFailure) as problem:
        check.problem = f"could not check: {problem}"
    return check


def wire(checks: list[InspectionCheck], times: int) -> dict[str, object]:
    return {"checks": [check.wire() for check in checks], "looks": times}
