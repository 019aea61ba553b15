"""Finds what a manifest of the right form may still get wrong: circles, counts that cannot be, names that lead nowhere."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

from gpuaas_server.catalog.footprints import allows_text_at
from gpuaas_server.catalog.profile_rules import profile_complaints
from gpuaas_server.catalog.usage_rules import metering_complaints
from gpuaas_server.catalog.yaml_text import Path

MOST_MEMBERS = 4096
MOST_PROBES = 8  # of a component, that hosts run
_PSEUDO = ("proc", "sys", "dev")

Json = dict[str, Any]
Complaint = tuple[Path, str]


def complaints(manifest: Json, malformed: Container[str] = ()) -> list[Complaint]:
    """List what makes no sense. A check is left out if it reads a field of the wrong form (`malformed`, by its name)."""
    readable = [check for fields, check in _CHECKS if not any(field in malformed for field in fields)]
    return [complaint for check in readable for complaint in check(manifest)]


def _keys(manifest: Json) -> list[str]:
    return [component["key"] for component in manifest["components"]]


def _endpoints(manifest: Json) -> list[Json]:
    listed: list[Json] = manifest.get("ui", {}).get("endpoints", [])
    return listed


def _repeated(path: Path, items: list[Json]) -> Iterator[Complaint]:
    seen: set[str] = set()
    for index, item in enumerate(items):
        if item["key"] in seen:
            yield (*path, index, "key"), f"The key {item['key']} is used twice."
        seen.add(item["key"])


def _unknown_components(path: Path, items: list[Json], keys: list[str]) -> Iterator[Complaint]:
    for index, item in enumerate(items):
        if item["component"] not in keys:
            yield (*path, index, "component"), f"There is no component {item['component']}."


def _counts(manifest: Json, components: list[Json]) -> Iterator[Complaint]:
    for index, component in enumerate(components):
        if component["min"] > component["max"]:
            yield ("components", index, "min"), f"min is {component['min']}, more than max, {component['max']}."
        if "allocation_group" in component and component["max"] > 1:
            message = "A component of an allocation group has one member, since the group has one allocation."
            yield ("components", index, "max"), message
    least = sum(component["min"] for component in components)
    most = manifest.get("max_members", MOST_MEMBERS)
    if least > most:
        where: Path = ("max_members",) if "max_members" in manifest else ("components",)
        yield where, f"The components need {least} members at least, and {most} is the most."
    if least == 0:
        yield ("components",), "Some component must have a min of 1 or more: an instance has a member."


def _compatibility(path: Path, layers: list[Json]) -> Iterator[Complaint]:
    """Check that the layers fit together: the app's, and a component's own."""
    low = max(layer.get("min_gpu_count", 0) for layer in layers)
    high = min(layer.get("max_gpu_count", 64) for layer in layers)
    if low > high:
        yield path, f"No allocation has at least {low} and at most {high} GPUs."
    shapes = set.intersection(
        *(set(layer.get("requires_capacity_shape", ("baremetal", "gpu_slice"))) for layer in layers)
    )
    if not shapes:
        yield path, "No shape of allocation is left."
    elif "baremetal" not in shapes and any(layer.get("requires_exclusive_node") for layer in layers):
        yield path, "Only bare metal has its node to itself, and it requires_capacity_shape does not name it."


def _component_compatibility(manifest: Json, components: list[Json]) -> Iterator[Complaint]:
    for index, component in enumerate(components):
        if "compatibility" in component:
            layers = [manifest["compatibility"], component["compatibility"]]
            yield from _compatibility(("components", index, "compatibility"), layers)


def _unknown_dependencies(components: list[Json], keys: list[str]) -> Iterator[Complaint]:
    for index, component in enumerate(components):
        for number, wanted in enumerate(component.get("depends_on", ())):
            if wanted not in keys:
                yield ("components", index, "depends_on", number), f"There is no component {wanted}."


def _unready_dependencies(manifest: Json) -> Iterator[Complaint]:
    """Find components that others shall wait for, and of which nothing would say that they are ready."""
    probed = {
        probe["component"]
        for probe in manifest.get("probes", ())
        if probe["kind"] in ("tcp", "http") and "readiness" in probe.get("purpose", ())
    }
    for index, component in enumerate(manifest["components"]):
        for number, wanted in enumerate(component.get("starts_after_ready", ())):
            where = ("components", index, "starts_after_ready", number)
            if wanted not in component.get("depends_on", ()):
                yield where, f"{wanted} is not in depends_on."
            elif wanted not in probed:
                yield where, f"{wanted} has no readiness probe of the kind tcp or http."


def _dependency_circles(components: list[Json]) -> Iterator[Complaint]:
    """Yield every component that depends on itself in the end, with the circle. A repeated key counts where it is first."""
    wants = {component["key"]: component.get("depends_on", []) for component in reversed(components)}
    for index, component in enumerate(components):
        circle = _dependency_circle(component["key"], wants)
        if circle:
            yield ("components", index, "depends_on"), f"The component depends on itself: {' → '.join(circle)}."


def _dependency_circle(start: str, wants: dict[str, list[str]]) -> list[str]:
    """Return the shortest path from a component to itself; empty when there is none. Breadth first: each component once."""
    paths: list[list[str]] = [[start]]
    seen: set[str] = set()
    for path in paths:  # grows while we walk
        for wanted in wants.get(path[-1], ()):
            if wanted == start:
                return [*path, start]
            if wanted not in seen:
                seen.add(wanted)
                paths.append([*path, wanted])
    return []


def _footprint(footprint: Json) -> Iterator[Complaint]:
    for kind in ("paths", "mounts"):
        for index, path in enumerate(footprint.get(kind, ())):
            parts = path.split("/")[1:]
            if any(set(part) == {"."} for part in parts):
                yield ("footprint", kind, index), "The path is not in its shortest form: it has a part of dots."
            elif parts[0] in _PSEUDO:
                yield ("footprint", kind, index), f"/{parts[0]} is the kernel's, not an app's."
    for index, user in enumerate(footprint.get("users", ())):
        if user == "root":
            yield ("footprint", "users", index), "root is there before and after every app."
    yield from _same_ports(footprint.get("ports", ()))


def _probes(manifest: Json) -> Iterator[Complaint]:
    run: Counter[str] = Counter()
    for index, probe in enumerate(manifest.get("probes", ())):
        unit = probe.get("unit")
        if unit is not None and unit not in manifest["footprint"].get("units", ()):
            yield ("probes", index, "unit"), f"The footprint has no unit {unit}."
        run[probe["component"]] += "purpose" in probe
        if "purpose" in probe and run[probe["component"]] == MOST_PROBES + 1:
            message = f"Hosts run at most {MOST_PROBES} probes of a component; {probe['component']} has more."
            yield ("probes", index), message


def _secrets(manifest: Json) -> Iterator[Complaint]:
    """Refuse what is said of a value that the platform does not make, or of one that no person gives."""
    for index, secret in enumerate(manifest.get("secrets", ())):
        made = secret["source"] == "generated"
        for name in ("required",) if made else ("kind", "length"):
            if name in secret:
                yield ("secrets", index, name), f"A {secret['source']} secret has no {name}."


def _check_users_from(manifest: Json) -> Iterator[Complaint]:
    for index, place in enumerate(manifest["footprint"].get("users_from", ())):
        if not allows_text_at(manifest.get("inputs"), place):
            yield ("footprint", "users_from", index), f"The inputs have no text at {place}."


def _same_ports(ports: Iterable[Json]) -> Iterator[Complaint]:
    seen: set[tuple[int, str]] = set()
    for index, port in enumerate(ports):
        one = (port["port"], port.get("protocol", "tcp"))
        if one in seen:
            yield ("footprint", "ports", index), f"The port {one[0]}/{one[1]} is listed twice."
        seen.add(one)


# The top-level fields that a check reads, and the check.
_CHECKS: tuple[tuple[tuple[str, ...], Callable[[Json], Iterable[Complaint]]], ...] = (
    (("components",), lambda m: _repeated(("components",), m["components"])),
    (("components", "max_members"), lambda m: _counts(m, m["components"])),
    (("compatibility",), lambda m: _compatibility(("compatibility",), [m["compatibility"]])),
    (("components", "compatibility"), lambda m: _component_compatibility(m, m["components"])),
    (("components",), lambda m: _unknown_dependencies(m["components"], _keys(m))),
    (("components", "probes"), _unready_dependencies),
    (("components",), lambda m: _dependency_circles(m["components"])),
    (("footprint",), lambda m: _footprint(m["footprint"])),
    (("footprint", "inputs"), _check_users_from),
    (
        ("runtime_profile", "artifact", "inputs", "footprint", "compatibility", "components", "probes", "secrets"),
        profile_complaints,
    ),
    (("probes",), lambda m: _repeated(("probes",), m.get("probes", []))),
    (("probes", "components"), lambda m: _unknown_components(("probes",), m.get("probes", []), _keys(m))),
    (("probes", "footprint"), _probes),
    (("ui",), lambda m: _repeated(("ui", "endpoints"), _endpoints(m))),
    (("ui", "components"), lambda m: _unknown_components(("ui", "endpoints"), _endpoints(m), _keys(m))),
    (("metering",), lambda m: _repeated(("metering",), m.get("metering", []))),
    (("metering", "components", "runtime_profile"), metering_complaints),
    (("secrets",), lambda m: _repeated(("secrets",), m.get("secrets", []))),
    (("secrets",), _secrets),
)
