"""The files of docker-registry: how many bytes each project has there, and what nothing refers to any more.

Repositories have links to blobs: one for each manifest, one for each layer. A blob's bytes are stored once, whoever links
to them. Garbage is what no kept manifest needs and what is older than the grace period; a push in progress is younger.
"""

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path

from gpuaas_server.artifacts.signatures import referrers_tag, signature_tag
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.digests import is_digest

_ALGORITHM = "sha256"


@dataclass(frozen=True, slots=True)
class KeptImages:
    """Holds what the database says must stay: manifests by repository, and repositories to which somebody may be pushing."""

    digests: Mapping[str, frozenset[str]]
    open_repositories: frozenset[str]


@dataclass(slots=True)
class Garbage:
    manifests: list[tuple[str, str]] = field(default_factory=list)  # repository, digest
    layers: list[tuple[str, str]] = field(default_factory=list)
    uploads: list[Path] = field(default_factory=list)
    blobs: list[str] = field(default_factory=list)
    size_bytes: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.manifests or self.layers or self.uploads or self.blobs)

    def document(self) -> dict[str, object]:
        """Describe the garbage for people and for the log."""
        manifests = [f"{repository}@{digest}" for repository, digest in self.manifests]
        counts = {"layers": len(self.layers), "uploads": len(self.uploads), "blobs": len(self.blobs)}
        return {"manifests": manifests, **counts, "size_bytes": self.size_bytes}


class RegistryStorage:
    def __init__(self, data: Path) -> None:
        root = data / "docker/registry/v2"
        self._repositories = root / "repositories"
        self._blobs = root / "blobs" / _ALGORITHM
        self._links: dict[
            Path, tuple[int, frozenset[str]]
        ] = {}  # folders of links, as they were when they last changed

    def repositories(self) -> Iterator[str]:
        """Yield the names of all repositories, such as `prj_…/trainer`."""
        for folder in _repository_folders(self._repositories):
            yield str(folder.relative_to(self._repositories))

    def bytes_by_project(self) -> dict[str, int]:
        """Return how many bytes each project's repositories link to; each blob counts once."""
        linked: dict[str, set[str]] = {}
        for repository in self.repositories():
            project = repository.partition("/")[0]
            linked.setdefault(project, set()).update(self._manifests(repository), self._layers(repository))
        return {project: sum(map(self._size, digests)) for project, digests in linked.items()}

    def find_garbage(self, kept: KeptImages, cutoff: float) -> Garbage:
        """Find the garbage. `cutoff` is a Unix time: what was written after it stays."""
        found, needed = Garbage(), set[str]()
        for repository in self.repositories():
            needed |= self._find_in(repository, kept, cutoff, found)
        for blob in self._blobs.glob("*/*/data"):
            digest = f"{_ALGORITHM}:{blob.parent.name}"
            status = blob.stat()
            if digest not in needed and status.st_mtime < cutoff:
                found.blobs.append(digest)
                found.size_bytes += status.st_size
        return found

    def remove(self, garbage: Garbage) -> None:
        """Remove the garbage, links first: a link without its blob is a broken image. The registry must not run meanwhile."""
        for repository, digest in garbage.manifests:
            self._untag(repository, digest)
            shutil.rmtree(self._manifest_folder(repository) / _hex(digest), ignore_errors=True)
        for repository, digest in garbage.layers:
            shutil.rmtree(self._layer_folder(repository) / _hex(digest), ignore_errors=True)
        for upload in garbage.uploads:
            shutil.rmtree(upload, ignore_errors=True)
        for digest in garbage.blobs:
            shutil.rmtree(self._blob(digest).parent, ignore_errors=True)
        self._links.clear()

    def _find_in(self, repository: str, kept: KeptImages, cutoff: float, found: Garbage) -> set[str]:
        """Add the repository's garbage to what was found, and return the blobs that it still needs."""
        manifests, layers = self._manifests(repository), self._layers(repository)
        if repository in kept.open_repositories:
            return set(manifests | layers)
        wanted = self._with_signatures(repository, kept.digests.get(repository, frozenset()))
        wanted |= {
            one for one in manifests if _is_young(self._manifest_folder(repository) / _hex(one) / "link", cutoff)
        }
        wanted = self._with_parts(wanted) & manifests
        needed = wanted.union(*map(self._references, wanted))
        needed |= {one for one in layers if _is_young(self._layer_folder(repository) / _hex(one) / "link", cutoff)}
        found.manifests += [(repository, one) for one in sorted(manifests - wanted)]
        found.layers += [(repository, one) for one in sorted(layers - needed)]
        uploads = (self._repositories / repository / "_uploads").glob("*")
        found.uploads += [one for one in uploads if not _is_young(one / "startedat", cutoff)]
        return needed

    def _with_signatures(self, repository: str, digests: Iterable[str]) -> set[str]:
        wanted = set(digests)
        for digest in list(wanted):
            for tag in (signature_tag(digest), referrers_tag(digest)):
                link = self._tags(repository) / tag / "current/link"
                if link.exists():
                    wanted.add(link.read_text().strip())
        return wanted

    def _with_parts(self, digests: Iterable[str]) -> set[str]:
        """Return the digests with those of the images of an index."""
        wanted = set(digests)
        for digest in list(wanted):
            wanted |= set(_digests(self._document(digest).get("manifests")))
        return wanted

    def _references(self, digest: str) -> set[str]:
        document = self._document(digest)
        return {*_digests([document.get("config")]), *_digests(document.get("layers"))}

    def _document(self, digest: str) -> dict[str, object]:
        try:
            found = json.loads(self._blob(digest).read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _untag(self, repository: str, digest: str) -> None:
        for link in self._tags(repository).glob("*/current/link"):
            if link.read_text().strip() == digest:
                shutil.rmtree(link.parent.parent, ignore_errors=True)

    def _manifests(self, repository: str) -> frozenset[str]:
        return self._linked(self._manifest_folder(repository))

    def _layers(self, repository: str) -> frozenset[str]:
        return self._linked(self._layer_folder(repository))

    def _linked(self, folder: Path) -> frozenset[str]:
        """Return the digests that a folder links to. It is read again only when it has changed, since it may be large."""
        try:
            changed = folder.stat().st_mtime_ns
        except FileNotFoundError:
            return frozenset()
        known = self._links.get(folder)
        if known is None or known[0] != changed:
            known = (changed, frozenset(f"{_ALGORITHM}:{one.parent.name}" for one in folder.glob("*/link")))
            self._links[folder] = known
        return known[1]

    def _size(self, digest: str) -> int:
        try:
            return self._blob(digest).stat().st_size
        except FileNotFoundError:
            return 0

    def _manifest_folder(self, repository: str) -> Path:
        return self._repositories / repository / "_manifests/revisions" / _ALGORITHM

    def _layer_folder(self, repository: str) -> Path:
        return self._repositories / repository / "_layers" / _ALGORITHM

    def _tags(self, repository: str) -> Path:
        return self._repositories / repository / "_manifests/tags"

    def _blob(self, digest: str) -> Path:
        return self._blobs / _hex(digest)[:2] / _hex(digest) / "data"


def _repository_folders(folder: Path) -> Iterator[Path]:
    """Yield the folders of repositories: they have folders of the registry's own, whose names begin with `_`."""
    try:
        below = sorted(one for one in folder.iterdir() if one.is_dir())
    except FileNotFoundError:
        return
    if any(one.name.startswith("_") for one in below):
        yield folder
    for one in below:
        if not one.name.startswith("_"):
            yield from _repository_folders(one)


def _hex(digest: str) -> str:
    return digest.partition(":")[2]


def _digests(descriptors: object) -> Iterator[str]:
    """Yield the digests. A digest becomes a path, so what only claims to be one is skipped."""
    for one in descriptors if isinstance(descriptors, list) else ():
        if isinstance(one, dict) and is_digest(one.get("digest")):
            yield one["digest"]


def _is_young(file: Path, cutoff: float) -> bool:
    try:
        return file.stat().st_mtime >= cutoff
    except FileNotFoundError:
        return False
