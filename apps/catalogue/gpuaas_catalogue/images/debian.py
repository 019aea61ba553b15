"""The base of an image: files of Debian packages, taken from an installed root file system.

Only files that a package lists are taken, so that two installations of the same packages give the same base: logs, caches
and keys of the installation are left behind. Set-user-ID bits are dropped when the layer is written.
"""

import hashlib
import json
import re
from collections.abc import Iterator
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
    "libstdc++6",
    "procps",
    "python3",
    "sed",
    "tzdata",
)
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
    """The packages of a root file system that go into images."""

    root: Path
    packages: tuple[Package, ...]

    @property
    def digest(self) -> str:
        """The hash of the packages' names and versions: their files follow from them."""
        listed = [[one.name, one.version, one.architecture] for one in self.packages]
        return hashlib.sha256(json.dumps([listed, _LEFT_OUT.pattern, _GENERATED]).encode()).hexdigest()

    @property
    def python(self) -> str:
        """The version of its Python, as 3.11."""
        found = sorted((self.root / "usr/lib").glob("python3.*/os.py"))
        if not found:
            raise BuildFailed(f"{self.root} has no Python.", "Take a root file system with the package python3.")
        return found[-1].parent.name.removeprefix("python")

    def files(self) -> Iterator[Path]:
        """Yield the files, links and folders of the base, relative to the root."""
        found: set[Path] = set()
        for package in self.packages:
            for line in self._list_of(package).read_text().splitlines():
                if line != "/." and not _LEFT_OUT.search(line):
                    found.add(self._place(line))
        found |= {Path(line.lstrip("/")) for line in _GENERATED if (self.root / line.lstrip("/")).is_file()}
        found |= {Path(name) for name in _MERGED if (self.root / name).is_symlink()}
        for path in sorted(found):
            if (self.root / path).is_symlink() or (self.root / path).exists():
                yield path

    def status(self) -> str:
        """The list of packages in dpkg's own form, for programs that look for known faults."""
        return "\n".join(
            f"Package: {one.name}\nStatus: install ok installed\nArchitecture: {one.architecture}\nVersion: {one.version}\n"
            for one in self.packages
        )

    def _list_of(self, package: Package) -> Path:
        info = self.root / "var/lib/dpkg/info"
        plain = info / f"{package.name}.list"
        return plain if plain.is_file() else info / f"{package.name}:{package.architecture}.list"

    def _place(self, line: str) -> Path:
        """Return where a listed path is since Debian merged /bin into /usr."""
        path = Path(line.lstrip("/"))
        first = path.parts[0]
        if len(path.parts) > 1 and first in _MERGED and (self.root / first).is_symlink():
            return Path("usr") / path
        return path


def read_base(root: Path) -> DebianBase:
    try:
        installed = {one.name: one for one in _installed((root / "var/lib/dpkg/status").read_text())}
    except OSError as error:
        raise BuildFailed(f"{root} is no Debian root file system: {error}.", "Make one with debootstrap.") from error
    providers = {name: one for one in installed.values() for name in one.provides}
    wanted, found = list(PACKAGES), dict[str, Package]()
    while wanted:
        name = wanted.pop()
        package = installed.get(name) or providers.get(name)
        if package is None:
            raise BuildFailed(f"{root} lacks the package {name}.", "Install it there, and build again.")
        if package.name not in found:
            found[package.name] = package
            wanted += _choices(package, installed, providers)
    return DebianBase(root, tuple(found[name] for name in sorted(found)))


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
