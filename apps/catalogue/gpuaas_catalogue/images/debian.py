"""The base of an image: files of Debian packages, taken from an installed root file system, which may have layers.

Only files that a package lists are taken, so that two installations of the same packages give the same base: logs, caches
and keys of the installation are left behind. Set-user-ID bits are dropped when the layer is written.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuaas_catalogue.images.errors import BuildFailed

# What the images need of Debian; what these depend on follows.
PACKAGES = (
    "base-files",
    "bash",
    "ca-certificates",
    "coreutils",
    "dash",
    "findutils",
    "grep",
    "libgomp1",
    "libstdc++6",
    "procps",
    "python3",
    "sed",
    "tzdata",
)
# What every root file system has. Some recipes name further packages: one that is made here has those as well.
INSTALLED = (*PACKAGES, "libnuma1", "util-linux")
# Packages that others name for their installation only.
_OF_THE_INSTALLATION = frozenset({"debconf", "dpkg", "init-system-helpers", "perl-base", "tar", "adduser", "passwd"})
_LEFT_OUT = re.compile(
    r"^/(usr/share/(man|info|locale|lintian|bug|doc-base|bash-completion)|var|etc/(cron|init|logrotate|systemd|default))"
    r"|^/usr/share/doc/.*(?<!/copyright)$|/__pycache__|^/usr/lib/python3[.0-9]*/(test|idlelib|lib2to3)/"
)
# Made by maintainer scripts from the packages' own files.
_GENERATED = ("/etc/ssl/certs/ca-certificates.crt",)
_MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")  # links into /usr, which no package lists


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    architecture: str
    needs: tuple[tuple[str, ...], ...]  # each is a choice
    provides: tuple[str, ...]


@dataclass(frozen=True)
class DebianBase:
    """The packages of a root file system that go into images. `roots` are its layers, the topmost first."""

    roots: tuple[Path, ...]
    packages: tuple[Package, ...]

    @property
    def digest(self) -> str:
        """The hash of the packages' names and versions: their files follow from them."""
        listed = [[one.name, one.version, one.architecture] for one in self.packages]
        return hashlib.sha256(json.dumps([listed, _LEFT_OUT.pattern, _GENERATED]).encode()).hexdigest()

    @property
    def python(self) -> str:
        """The version of its Python, as 3.11."""
        names = (one.name.removeprefix("python") for one in self.packages)
        return next(name for name in names if re.fullmatch(r"3\.[0-9]+", name))

    def files(self) -> Iterator[Path]:
        """Yield the files, links and folders of the base, relative to the root."""
        found: set[Path] = set()
        for package in self.packages:
            for line in self._list_of(package).read_text().splitlines():
                if line != "/." and not _LEFT_OUT.search(line):
                    found.add(self._place(line))
        found |= {Path(line.lstrip("/")) for line in _GENERATED}
        found |= {Path(name) for name in _MERGED if self._is_merged(name)}
        yield from sorted(path for path in found if self.source(path) is not None)

    def source(self, path: Path | str) -> Path | None:
        """Return where a path of the base is on this machine; None if it is not there."""
        places = (root / path for root in self.roots)
        return next((place for place in places if place.is_symlink() or place.exists()), None)

    def with_packages(self, names: Sequence[str]) -> "DebianBase":
        """Return this base with further packages of the same root file system, and what these depend on."""
        return read_base(*self.roots, packages=(*PACKAGES, *names)) if names else self

    def status(self) -> str:
        """Returns the list of packages in dpkg's own form, for programs that look for known faults."""
        return "\n".join(
            f"Package: {one.name}\nStatus: install ok installed\nArchitecture: {one.architecture}\nVersion: {one.version}\n"
            for one in self.packages
        )

    def _list_of(self, package: Package) -> Path:
        names = (f"{package.name}.list", f"{package.name}:{package.architecture}.list")
        found = (self.source(f"var/lib/dpkg/info/{name}") for name in names)
        return next(file for file in found if file is not None)

    def _is_merged(self, name: str) -> bool:
        return name in _MERGED and any((root / name).is_symlink() for root in self.roots)

    def _place(self, line: str) -> Path:
        """Return where a listed path is since Debian merged /bin into /usr."""
        path = Path(line.lstrip("/"))
        return Path("usr") / path if len(path.parts) > 1 and self._is_merged(path.parts[0]) else path


def read_base(*roots: Path, packages: Sequence[str] = PACKAGES) -> DebianBase:
    """Read packages of a root file system. Where it has layers, the topmost comes first: it lists all packages."""
    try:
        listed = next(file for root in roots if (file := root / "var/lib/dpkg/status").is_file())
        installed = {one.name: one for one in _installed(listed.read_text())}
    except (OSError, StopIteration) as error:
        raise BuildFailed("There is no Debian root file system.", f"Make one with debootstrap: {INSTALLED}.") from error
    providers = {name: one for one in installed.values() for name in one.provides}
    wanted, found = list(packages), dict[str, Package]()
    while wanted:
        name = wanted.pop()
        package = installed.get(name) or providers.get(name)
        if package is None:
            raise BuildFailed(f"The base lacks the package {name}.", "Install it there, and build again.")
        if package.name not in found:
            found[package.name] = package
            wanted += _choices(package, installed, providers)
    return DebianBase(roots, tuple(found[name] for name in sorted(found)))


def _choices(package: Package, installed: dict[str, Package], providers: dict[str, Package]) -> Iterator[str]:
    for choice in package.needs:
        known = [name for name in choice if name in installed or name in providers]
        if not set(choice) & _OF_THE_INSTALLATION:
            yield known[0] if known else choice[0]


def _installed(status: str) -> Iterator[Package]:
    for stanza in status.split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): (.*)$", stanza, re.MULTILINE))
        if fields.get("Status") == "install ok installed":
            needs = f"{fields.get('Pre-Depends', '')},{fields.get('Depends', '')}"
            yield Package(
                name=fields["Package"],
                version=fields["Version"],
                architecture=fields["Architecture"],
                needs=tuple(_names(choice) for choice in needs.split(",") if choice.strip()),
                provides=_names(fields.get("Provides", "").replace(",", "|")),
            )


def _names(choices: str) -> tuple[str, ...]:
    """Return package names without their versions and architectures."""
    return tuple(re.split(r"[\s(:]", choice.strip())[0] for choice in choices.split("|") if choice.strip())
