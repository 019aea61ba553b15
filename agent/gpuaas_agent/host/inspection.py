"""Looks for what an app should have taken away: each check says what it looked for, what it found, and what was there before.

It judges nothing: the platform compares. It only reads, so it may be repeated at any time. Evidence is bounded and holds
names, never the content of a file and never the arguments of a process.
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
from gpuaas_agent.host.place import Place
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
class Found:
    """Something that is there. `why` says which rule named it; `known`: it was there before the tenant came."""

    item: str
    why: str
    known: bool

    def wire(self) -> dict[str, object]:
        return {"item": _plain(self.item), "why": _plain(self.why), "known": self.known}


@dataclass
class Look:
    name: str
    looked_for: tuple[str, ...]
    found: list[Found] = field(default_factory=list)
    noted: list[str] = field(default_factory=list)  # new since before, and of no footprint
    examined: int = 0
    problem: str = ""

    @property
    def settled(self) -> bool:
        return not self.problem and all(one.known for one in self.found)

    def wire(self) -> dict[str, object]:
        """What counts comes first, so that a bound never hides it."""
        found = sorted(self.found, key=lambda one: one.known)
        return {
            "name": self.name,
            "looked_for": [entry[:_LONGEST] for entry in self.looked_for],
            "found": [one.wire() for one in found[:MOST_FINDINGS]],
            "left": sum(not one.known for one in found),
            "noted": [_plain(line) for line in self.noted[:MOST_FINDINGS]],
            "examined": self.examined,
            "problem": _plain(self.problem),
        }


@dataclass(frozen=True)
class Inspection:
    place: Place
    footprint: Footprint
    depth: Depth
    instance_id: str
    login_user: str
    revoked_serials: tuple[int, ...] = ()

    @staticmethod
    def of(spec: InspectSpec, place: Place, login_user: str) -> Inspection:
        return Inspection(place, spec.footprint, spec.depth, spec.instance_id, login_user, spec.revoked_serials)

    def until_settled(self, deadline: Deadline, seconds: float = _SETTLE_SECONDS) -> tuple[list[Look], int]:
        """What was just stopped needs a moment to be gone: look again while something is left. (looks, how often)"""
        limit, times = deadline.at_most(seconds), 1
        looks = self.looks()
        while not all(look.settled for look in looks) and limit.remaining() > _PAUSE_SECONDS:
            time.sleep(_PAUSE_SECONDS)
            looks, times = self.looks(), times + 1
        return looks, times

    def looks(self) -> list[Look]:
        checks: dict[str, Callable[[Look], None]] = {
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
        return [_look(look, checks[look.name]) for look in asked(self.footprint, self.depth, self.revoked_serials)]

    def _units(self, look: Look) -> None:
        running = self.place.units()
        for unit in sorted(running):
            pattern, known = unit_matching(self.footprint.units, unit), self.place.before.unit(unit)
            if pattern is not None:
                look.found.append(Found(f"{unit} is loaded", pattern, known))
            elif not known:
                look.noted.append(unit)
        look.examined = len(running)
        if self.depth == "gone":
            for path in self._unit_files(look):
                pattern = unit_matching(self.footprint.units, path.rpartition("/")[2])
                if pattern is not None:
                    look.found.append(Found(path, pattern, self.place.before.path(path)))

    def _unit_files(self, look: Look) -> Iterator[str]:
        for folder in UNIT_FOLDERS:
            names = self.place.files.names(folder)
            look.examined += len(names)
            for name in names:
                yield f"{folder}/{name}"
                if name.endswith((".wants", ".requires")):
                    yield from (f"{folder}/{name}/{inner}" for inner in self.place.files.names(f"{folder}/{name}"))

    def _processes(self, look: Look) -> None:
        running = self.place.processes()
        look.examined = len(running)
        ours = app_processes.belonging(running, self.footprint, self._new_uids(), self.instance_id)
        for process in running:
            why, known = ours.get(process.pid), self.place.before.process(process)
            if why is not None:
                look.found.append(Found(app_processes.describe(process), why, known))
            elif not known:
                look.noted.append(app_processes.describe(process))

    def _ports(self, look: Look) -> None:
        open_now = self.place.ports()
        look.examined = len(open_now)
        for endpoint in sorted(open_now):
            protocol, number = endpoint.partition(" ")[0], endpoint.rpartition(":")[2]
            known = self.place.before.port(endpoint)
            if f"{number}/{protocol}" in self.footprint.ports:
                look.found.append(Found(endpoint, f"{number}/{protocol}", known))
            elif not known:
                look.noted.append(endpoint)

    def _containers(self, look: Look) -> None:
        """A stopped app may keep its stopped containers; one that is gone keeps none."""
        homes, running = [home for _, home in self._homes()], self.place.processes()
        for one in containers.on_record(self.place.files, homes):
            look.examined += 1
            runs = any(one.identifier in process.group + process.command for process in running)
            pattern, state = matching(self.footprint.containers, one.name), "running" if runs else "not running"
            if pattern is None:
                look.noted.append(f"{one.name} ({state})")
            elif runs or self.depth == "gone":
                look.found.append(Found(f"{one.name} ({state})", pattern, False))

    def _cron(self, look: Look) -> None:
        for folder in (*CRON_FOLDERS, CRON_TABLES):
            for name in self.place.files.names(folder):
                look.examined += 1
                path = f"{folder}/{name}"
                known = self.place.before.same_file(path)
                why = matching(self.footprint.cron, name) if folder != CRON_TABLES else None
                why = why or (None if known else self._names_the_app(path))
                if why is not None:
                    look.found.append(Found(path, why, known))
                elif not known:
                    look.noted.append(path)

    def _names_the_app(self, path: str) -> str | None:
        """Whether a new table mentions a path of the footprint, or belongs to one of its users."""
        folder, _, name = path.rpartition("/")
        if folder == CRON_TABLES and name in self.footprint.users:
            return f"the table of {name}"
        text = (self.place.files.read(path) or b"").decode(errors="replace")
        prefixes = (entry.partition("*")[0] for entry in self.footprint.paths)
        return next((f"mentions {prefix}" for prefix in prefixes if prefix in text), None)

    def _credentials(self, look: Look) -> None:
        refused = self.place.revoked_serials()
        look.examined = len(self.revoked_serials)
        for serial in self.revoked_serials:
            if not any(first <= serial <= last for first, last in refused):
                look.found.append(Found(f"certificate {serial} still opens", "revoked by the platform", False))

    def _paths(self, look: Look) -> None:
        for entry in self.footprint.paths:
            for path in self._expanded(entry):
                look.examined += 1
                kind, known = self.place.files.kind(path), self.place.before.path(path)
                if kind == "folder" and known:  # an old folder may hold new things
                    look.found += [Found(inner, entry, False) for inner in self._new_under(path, look)]
                elif kind is not None:
                    look.found.append(Found(path, entry, known))

    def _expanded(self, entry: str) -> list[str]:
        if "*" not in entry:
            return [entry]
        folder, _, _ = entry.rpartition("/")
        paths = (f"{folder}/{name}" for name in self.place.files.names(folder or "/"))
        return [path for path in paths if under((entry,), path)]

    def _new_under(self, folder: str, look: Look) -> list[str]:
        """The topmost new entries below; an old folder is walked until enough is found, or it is too large to walk."""
        before = look.examined
        found, waiting = list[str](), [folder]
        while waiting and len(found) < MOST_FINDINGS:
            here = waiting.pop()
            for name in self.place.files.names(here):
                look.examined += 1
                if look.examined - before > _MOST_WALKED:
                    raise ValueError(f"{folder} holds too much to be looked through: name what is the app's in it")
                path = f"{here}/{name}"
                if not self.place.before.path(path):
                    found.append(path)
                elif self.place.files.kind(path) == "folder":
                    waiting.append(path)
        return found

    def _users(self, look: Look) -> None:
        for name, home in self._homes():
            look.examined += 1
            known = self._was_there(name)
            if name in self.footprint.users:
                look.found.append(Found(f"{name} ({home})", name, known))
            elif not known:
                look.noted.append(name)

    def _mounts(self, look: Look) -> None:
        mounted = self.place.mounts()
        look.examined = len(mounted)
        for mount in mounted:
            known = self.place.before.mount(mount)
            why = under(self.footprint.mounts, mount.point) or under(self.footprint.paths, mount.point)
            if why is not None:
                look.found.append(Found(mount.point, why, known))
            elif not known:
                look.noted.append(mount.point)

    def _authorized_keys(self, look: Look) -> None:
        """Keys that an app's account accepts. Those of the login user are the tenant's own affair, and noted."""
        for name, home in self._homes():
            for file in ("authorized_keys", "authorized_keys2"):
                path = f"{home.rstrip('/')}/.ssh/{file}"
                look.examined += 1
                if self.place.files.exists(path) and not self.place.before.same_file(path):
                    if name in self.footprint.users and not self._was_there(name):
                        look.found.append(Found(path, name, False))
                    else:
                        look.noted.append(path)

    def _homes(self) -> list[tuple[str, str]]:
        return [(name, home) for name, _, home in self._accounts()]

    def _accounts(self) -> list[tuple[str, int, str]]:
        text = self.place.files.read("/etc/passwd")
        if text is None:
            raise FileNotFoundError(2, "there is no account file", "/etc/passwd")
        rows = (line.split(":") for line in text.decode(errors="replace").splitlines())
        return [(row[0], int(row[2]), row[5]) for row in rows if len(row) > 6 and row[2].isdigit()]

    def _new_uids(self) -> frozenset[int]:
        """Of accounts that the app made. A system account that it only names says nothing about a process."""
        named = [row for row in self._accounts() if row[0] in self.footprint.users]
        return frozenset(uid for name, uid, _ in named if uid and not self._was_there(name))

    def _was_there(self, user: str) -> bool:
        """The platform itself makes the login user."""
        return user == self.login_user or self.place.before.user(user)


def _plain(text: str) -> str:
    """A tenant chooses the names of files and processes: what reaches somebody's terminal is printable, and short."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_LONGEST])


def asked(footprint: Footprint, depth: Depth, revoked_serials: tuple[int, ...]) -> list[Look]:
    """Stopped: nothing runs, and nothing will start it. Gone: nothing is left at all."""
    looks = [
        Look("units", footprint.units),
        Look("processes", footprint.processes),
        Look("ports", footprint.ports),
        Look("containers", footprint.containers),
        Look("cron", footprint.cron),
        Look("credentials", tuple(str(serial) for serial in revoked_serials)),
    ]
    if depth == "gone":
        looks += [
            Look("paths", footprint.paths),
            Look("users", footprint.users),
            Look("mounts", footprint.mounts),
            Look("authorized_keys", footprint.users),
        ]
    return looks


def nothing_found(spec: InspectSpec) -> list[Look]:
    """The answer of a place that has nothing in it, as a simulated host is."""
    return asked(spec.footprint, spec.depth, spec.revoked_serials)


def _look(look: Look, run: Callable[[Look], None]) -> Look:
    """A check that cannot look says so, and proves nothing."""
    try:
        run(look)
    except (OSError, ValueError, TaskFailure) as problem:
        look.problem = f"could not look: {problem}"
    return look


def wire(looks: list[Look], times: int) -> dict[str, object]:
    return {"checks": [look.wire() for look in looks], "looks": times}
