"""Finds the package sources of this machine; lab hosts are built from the same sources.

The project contains no address of a package source; it is read from the machine's own apt sources.
"""

from dataclasses import dataclass
from pathlib import Path

from gpuaas_lab.errors import LabError

APT_DIR = Path("/etc/apt")


@dataclass(frozen=True)
class PackageSource:
    uri: str
    suites: tuple[str, ...]


def release_codename(os_release: Path = Path("/etc/os-release")) -> str:
    for line in os_release.read_text().splitlines():
        key, _, value = line.partition("=")
        if key == "VERSION_CODENAME":
            return value.strip('"')
    raise LabError(f"{os_release} names no VERSION_CODENAME: the lab needs Debian")


def package_mirror(codename: str, apt_dir: Path = APT_DIR) -> str:
    for source in package_sources(apt_dir):
        if codename in source.suites:
            return source.uri
    raise LabError(f"no apt source in {apt_dir} offers {codename}: add one, then try again")


def package_sources(apt_dir: Path) -> list[PackageSource]:
    found: list[PackageSource] = []
    for path in sorted(apt_dir.glob("sources.list.d/*.sources")):
        found += _from_stanzas(path.read_text())
    for path in [apt_dir / "sources.list", *sorted(apt_dir.glob("sources.list.d/*.list"))]:
        if path.is_file():
            found += _from_lines(path.read_text())
    return found


def _from_stanzas(text: str) -> list[PackageSource]:
    found = []
    for stanza in text.split("\n\n"):
        lines = [line for line in stanza.splitlines() if ":" in line and not line.startswith("#")]
        fields = {key.strip().lower(): value for key, _, value in (x.partition(":") for x in lines)}
        if "deb" in fields.get("types", "").split():
            suites = tuple(fields.get("suites", "").split())
            found += [PackageSource(uri, suites) for uri in fields.get("uris", "").split()]
    return found


def _from_lines(text: str) -> list[PackageSource]:
    found = []
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if words[:1] != ["deb"]:
            continue
        if words[1].startswith("["):
            end = next(i for i, word in enumerate(words) if word.endswith("]"))
            words = ["deb", *words[end + 1 :]]
        found.append(PackageSource(words[1], (words[2],)))
    return found
