"""Reads what a package says about its app, and finds the installed packages."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Literal

from gpuaas_sdk.image_layouts import ImageLayout
from gpuaas_sdk.signatures import digest_of

GROUP = "gpuaas.apps"
DIGEST = "{digest}"  # a placeholder in manifests for the digest of the artifact
ALL, NONE = "all", "none"


class AppNotReady(Exception):
    """The app cannot be provided here yet; the text says why and what to do. It is asked for again later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformApp:
    """An app as its package provides it. What is left out is not done: an app without a manifest publishes nothing, and one
    without a controller is carried out by the controller of its kind.
    """

    manifest: str = ""  # the text; `{digest}` stands for the digest of the artifact
    title: str = ""  # how people know it, where there is no manifest yet
    artifact: Path | None = None  # what is published as the artifact: a file, or the folder of an image in OCI's layout
    artifact_kind: Literal["blob", "oci"] = "blob"  # oci: an image, so that the platform needs a registry
    # The command that makes what is still missing; what it prints is its progress. Then the package is asked again.
    prepare: Sequence[str] = ()
    media_type: str = "application/octet-stream"
    # Checks the artifact before it is published, and returns what it saw, as `lint` and `smoke`; else it raises AppNotReady.
    check: Callable[[Path], Mapping[str, str]] | None = None
    controller: Sequence[str] = ()  # the command of the controller's process
    environment: Mapping[str, str] = field(default_factory=dict)  # for the controller, such as GPUAAS_CONCURRENCY
    is_example: bool = False  # provided only where it is asked for by name
    serves_kind: str = ""  # the kind of artifact whose apps the controller serves, such as `launchable`

    @property
    def slug(self) -> str:
        return self._top_level("slug")

    @property
    def version(self) -> str:
        return self._top_level("version")

    @property
    def display_name(self) -> str:
        return self._top_level("display_name", r"(?:(?![\"'#]).)+") or self.title

    def digest(self) -> str:
        """Return the digest of the artifact: of all bytes of a file, or of the manifest of an image."""
        if self.artifact is None:
            raise AppNotReady("The app has a manifest, but no artifact.")
        return ImageLayout(self.artifact).digest if self.artifact_kind == "oci" else digest_of(self.artifact)

    def manifest_of(self, digest: str) -> str:
        return self.manifest.replace(DIGEST, digest)

    def _top_level(self, key: str, value: str = r"[^\s\"'#]+") -> str:
        """Return the value of a line of the manifest. Such lines are plain: the platform checks the whole of it."""
        found = re.search(rf"^{key}:\s*[\"']?({value})", self.manifest, re.MULTILINE)
        return found.group(1).strip() if found else ""


@dataclass(frozen=True, slots=True)
class InstalledApp:
    """An entry point of an installed package. `declare` asks the package, which may not be ready."""

    name: str
    package: str
    named: bool  # somebody asked for this one
    declare: Callable[[], PlatformApp]


def installed_apps(wanted: str) -> list[InstalledApp]:
    """Return the apps of installed packages, by name. `wanted` is `all`, `none`, or names separated by commas."""
    names = {one.strip() for one in wanted.split(",") if one.strip()}
    if names <= {NONE}:
        return []
    found = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return [_installed(point, point.name in names) for point in found if ALL in names or point.name in names]


def _installed(point: EntryPoint, named: bool) -> InstalledApp:
    def declare() -> PlatformApp:
        declared = point.load()
        app = declared() if callable(declared) else declared
        if not isinstance(app, PlatformApp):
            raise AppNotReady(f"{point.value} gives no PlatformApp.")
        return app

    package = "" if point.dist is None else f"{point.dist.name} {point.dist.version}"
    return InstalledApp(point.name, package, named, declare)
