"""Derives a private app from a folder that is being developed, and a new version of it for each change. Pure.

Versions never change, so each change is another one. They belong to an app of their own, which only the developer's tenant
sees: nobody who uses the published app sees a development version.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpuaas_compose.app_file import AppFile
from gpuaas_compose.manifest import Json, manifest_of
from gpuaas_compose.placement import Layout
from gpuaas_compose.services import Service

_LONGEST_SLUG = 40


@dataclass(frozen=True, slots=True)
class Build:
    """A folder without faults. `services` have the images of the archives in it, whatever digest the compose file names."""

    app: AppFile
    services: tuple[Service, ...]

    @property
    def layout(self) -> Layout:
        return Layout(self.app, self.services)

    @property
    def places(self) -> dict[str, str]:
        """The allocation of each service, by its name in app.yaml."""
        return {service.name: str(self.layout.allocation_of(service.name)) for service in self.services}

    def manifest(self, slug: str, version: str) -> Json:
        """Return the manifest of a development version of this folder."""
        app = replace(self.app, slug=slug, display_name=_display_name(self.app.display_name), version=version)
        return manifest_of(app, self.services)


def with_images(app: AppFile, services: tuple[Service, ...], archived: Mapping[str, str]) -> Build:
    """Take the image of its archive for each service that has one; `archived` are digests by service."""
    return Build(app, tuple(replace(one, digest=archived.get(one.name, one.digest)) for one in services))


def development_slug(slug: str, project_id: str) -> str:
    """Return the slug of the private app. Slugs are unique on the platform, so it has the end of the project's id."""
    end = f"-dev-{project_id[-6:].lower()}"
    return f"{slug[: _LONGEST_SLUG - len(end)].rstrip('-')}{end}"


def development_version(version: str, began: int, number: int) -> str:
    """Return a version that is above all earlier ones of the same release, and below the release itself."""
    release = version.partition("-")[0].partition("+")[0]
    return f"{release}-dev.t{began}.{number}"  # a number by itself would be too long


def is_same_place(running: Build, wanted: Build) -> bool:
    """Tell whether the change can be an upgrade: the same services, each on the allocation that it has."""
    return running.places == wanted.places


def changed_services(running: Build, wanted: Build) -> list[str]:
    """List the services whose containers differ, in the order of the compose file."""
    before, after = _profiles(running), _profiles(wanted)
    return [name for name in after if before.get(name) != after[name]]


def is_changed(running: Build, wanted: Build) -> bool:
    return running.manifest("app", "0.0.0") != wanted.manifest("app", "0.0.0")


def _profiles(build: Build) -> dict[str, object]:
    components = build.manifest("app", "0.0.0")["components"]
    listed = components if isinstance(components, list) else []
    return {str(one["key"]): one["runtime_profile"] for one in listed}


def _display_name(name: str) -> str:
    return f"{name[:86]} (development)"
