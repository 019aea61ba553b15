"""Decides which usage of a version's instances is counted: the manifest's dimensions, and how long its containers ran. Pure."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

from gpuaas_server.catalog.manifest_document import ManifestDocument
from gpuaas_server.catalog.yaml_text import Path

# Counted for every version that runs images, whatever its manifest says: key and unit.
CONTAINER_SECONDS = ("container_seconds", "second")
MOST_COUNTERS = 16  # of a component, that its hosts read

Json = dict[str, Any]
Complaint = tuple[Path, str]


def runs_images(manifest: ManifestDocument) -> bool:
    """Tell whether the version has a runtime profile, its own or a component's."""
    return any("runtime_profile" in one for one in (manifest, *manifest["components"]))


def metered_units(manifest: ManifestDocument) -> Iterator[tuple[str, str]]:
    """Yield every key that usage of the version may be reported by, with its unit."""
    if runs_images(manifest):
        yield CONTAINER_SECONDS
    for dimension in manifest.get("metering", ()):
        yield dimension["key"], dimension["unit"]


def metering_complaints(manifest: Json) -> Iterator[Complaint]:
    """Find counters that no host could read, and dimensions that have another meaning already."""
    components = {component["key"]: component for component in manifest["components"]}
    runs = runs_images(cast(ManifestDocument, manifest))
    read: Counter[str] = Counter()
    for index, dimension in enumerate(manifest.get("metering", ())):
        if dimension["key"] == CONTAINER_SECONDS[0] and runs:
            message = f"{CONTAINER_SECONDS[0]} is counted by default: how long the containers ran. Use another key."
            yield ("metering", index, "key"), message
        counter = dimension.get("counter")
        if counter is None:
            continue
        key, where = counter["component"], ("metering", index, "counter", "component")
        component = components.get(key)
        read[key] += 1
        if component is None:
            yield where, f"There is no component {key}."
        elif "runtime_profile" not in component and "runtime_profile" not in manifest:
            yield where, f"{key} runs no image, so that nothing reads its counter; its controller reports the usage."
        elif read[key] == MOST_COUNTERS + 1:
            yield ("metering", index), f"Hosts read at most {MOST_COUNTERS} counters of a component; {key} has more."
