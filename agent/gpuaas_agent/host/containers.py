"""Lists the containers of podman and docker, running or not, and podman's images, from their files on disk.

It does not run their programs: in a slice these belong to the tenant.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gpuaas_agent.host.confined_files import ConfinedFiles

_PODMAN = ("overlay-containers", "vfs-containers")
_IMAGES = ("overlay-images", "vfs-images")
_DOCKER = "/var/lib/docker/containers"


@dataclass(frozen=True)
class Container:
    identifier: str
    name: str


def on_record(files: ConfinedFiles, homes: Iterable[str]) -> list[Container]:
    """Return the containers of the system's store and of each account's store."""
    stores = _stores(homes)
    found = {one for store in stores for driver in _PODMAN for one in _podman(files, f"{store}/{driver}")}
    return sorted(found | set(_docker(files)), key=lambda one: one.name)


def named_images(files: ConfinedFiles, homes: Iterable[str]) -> list[str]:
    """Return the names of podman's images, such as `localhost/web:1`."""
    texts = (files.read(f"{store}/{driver}/images.json") for store in _stores(homes) for driver in _IMAGES)
    entries = [entry for text in texts if text for entry in _objects(json.loads(text))]
    return sorted({str(name) for entry in entries for name in entry.get("names") or []})


def _stores(homes: Iterable[str]) -> list[str]:
    own = {f"{home.rstrip('/')}/.local/share/containers/storage" for home in homes if home.startswith("/")}
    return ["/var/lib/containers/storage", *sorted(own)]


def _objects(value: object) -> list[dict[str, list[str]]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _podman(files: ConfinedFiles, folder: str) -> Iterator[Container]:
    text = files.read(f"{folder}/containers.json")
    entries = json.loads(text) if text else []
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict):
            yield from (Container(str(entry.get("id")), str(name)) for name in entry.get("names") or [])


def _docker(files: ConfinedFiles) -> Iterator[Container]:
    for identifier in files.names(_DOCKER):
        text = files.read(f"{_DOCKER}/{identifier}/config.v2.json")
        raw = json.loads(text) if text else {}
        if isinstance(raw, dict) and raw.get("Name"):
            yield Container(identifier, str(raw["Name"]).lstrip("/"))
