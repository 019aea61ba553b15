"""Derives what an app leaves on a host from what its handlers install, and compares it with its manifest's footprint."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from gpuaas_sdk.wire import Document


@dataclass
class InstalledThings:
    """The units, paths, users and ports that handlers have asked for. Packages are not part of a footprint."""

    units: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)

    def footprint(self) -> Document:
        """Return the `footprint` of a manifest: each thing once, and no path below another. What the app's programs make
        themselves, such as files of their own, is not in it.
        """
        paths = [one for one in self.paths if not _is_below(one, self.paths)]
        ports = [{"port": one} for one in _each_once(self.ports)]
        kinds = {"units": _each_once(self.units), "ports": ports, "paths": _each_once(paths)}
        kinds["users"] = _each_once(self.users)
        return {kind: found for kind, found in kinds.items() if found}

    def missing_in(self, manifest: Document) -> list[str]:
        """Return what the manifest's `footprint` does not name, as the lines that it needs. An empty list is right."""
        footprint = manifest.get("footprint")
        named = footprint if isinstance(footprint, Mapping) else {}
        missing = [f"units: {one}" for one in self.units if not _matches(one, _texts(named, "units"))]
        missing += [f"paths: {one}" for one in self.paths if not _is_covered(one, _texts(named, "paths"))]
        missing += [f"users: {one}" for one in self.users if not _matches(one, _texts(named, "users"))]
        ports = _ports(named.get("ports"))
        return missing + [f"ports: {{port: {one}}}" for one in self.ports if one not in ports]


def _each_once(found: Iterable[str | int]) -> list[object]:
    return list(dict.fromkeys(found))


def _is_below(path: str, others: Iterable[str]) -> bool:
    return any(path.startswith(f"{other}/") for other in others)


def _texts(footprint: Mapping[str, object], kind: str) -> list[str]:
    found = footprint.get(kind)
    return [str(one) for one in found] if isinstance(found, Sequence) else []


def _ports(entries: object) -> set[int]:
    found = entries if isinstance(entries, Sequence) else ()
    numbers = (one.get("port") if isinstance(one, Mapping) else str(one).partition("/")[0] for one in found)
    return {int(str(one)) for one in numbers if str(one).isdecimal()}


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, one) for one in patterns)


def _is_covered(path: str, patterns: Sequence[str]) -> bool:
    """Tell whether an entry names the path or a folder above it."""
    parts = path.split("/")
    return any(_matches("/".join(parts[:end]), patterns) for end in range(2, len(parts) + 1))
