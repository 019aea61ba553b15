"""What a runtime profile of the right form may still get wrong, and why some fields of other formats do not exist in it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gpuaas_server.catalog.footprints import allows_value_at
from gpuaas_server.catalog.yaml_text import Path

PLACE = "runtime_profile"
# Reasons for fields that authors know from elsewhere.
REFUSED_FIELDS = {
    "privileged": "A container is never privileged.",
    "cap_add": "A container gets no further capabilities.",
    "capabilities": "A container gets no further capabilities.",
    "security_opt": "The confinement of a container cannot be loosened.",
    "network": "A container has its own network; name its ports instead.",
    "network_mode": "A container has its own network; name its ports instead.",
    "host_network": "A container has its own network; name its ports instead.",
    "pid": "A container has its own processes.",
    "ipc": "A container has its own memory; say how much it shares in resources.",
    "devices": "Devices are not given by hand; say how many GPUs it needs.",
    "host_path": "A volume is never a folder of the host.",
    "source": "A volume is never a folder of the host.",
    "env_file": "Environment variables are named in env.",
    "secrets": "Secrets are not delivered to containers yet.",
    "tag": "An image is named by its digest: a tag can move.",
}
_RESERVED_NAMES = ("CUDA_VISIBLE_DEVICES",)
_RESERVED_PREFIXES = ("GPUAAS_", "NVIDIA_")
_OF_THE_SYSTEM = ("proc", "sys", "dev", "run")

Json = dict[str, Any]
Complaint = tuple[Path, str]


@dataclass(frozen=True, slots=True)
class _Profile:
    """One runtime profile of the manifest, and where it is. `component`: whose own it is; None: the version's."""

    path: Path
    content: Json
    component: Json | None = None


def profile_complaints(manifest: Json) -> Iterator[Complaint]:
    profiles = list(_profiles(manifest))
    kind = manifest["artifact"]["kind"]
    for profile in profiles if kind == "controller" else ():
        yield profile.path, "A version of the kind controller runs no image; its kind would be oci or launchable."
    if kind == "launchable" and PLACE not in manifest:
        own = {profile.component["key"] for profile in profiles if profile.component is not None}
        missing = [component["key"] for component in manifest["components"] if component["key"] not in own]
        if missing:
            message = f"A launchable version has a runtime_profile, or each component its own; {missing[0]} has none."
            yield ("artifact", "kind"), message
    yield from _images(manifest, profiles)
    for profile in profiles:
        yield from _variables(profile)
        yield from _inputs(manifest, profile)
        yield from _ports(manifest, profile)
        yield from _mounts(profile)
        yield from _gpus(manifest, profile)
    yield from _shared_ports(profiles)


def _profiles(manifest: Json) -> Iterator[_Profile]:
    if PLACE in manifest:
        yield _Profile((PLACE,), manifest[PLACE])
    for index, component in enumerate(manifest["components"]):
        if PLACE in component:
            yield _Profile(("components", index, PLACE), component[PLACE], component)


def _images(manifest: Json, profiles: Sequence[_Profile]) -> Iterator[Complaint]:
    """The version's artifact is an image that runs: that of its profile, or that of a component."""
    digest = manifest["artifact"]["digest"]
    for profile in profiles:
        if profile.component is None and profile.content["image"] != digest:
            yield (*profile.path, "image"), "This is not the digest of the version's artifact."
    if profiles and all(profile.component is not None and profile.content["image"] != digest for profile in profiles):
        yield ("artifact", "digest"), "No component runs this image."


def _variables(profile: _Profile) -> Iterator[Complaint]:
    for name in profile.content.get("env", ()):
        if name in _RESERVED_NAMES or name.startswith(_RESERVED_PREFIXES):
            yield (*profile.path, "env", name), f"The platform sets {name}."


def _inputs(manifest: Json, profile: _Profile) -> Iterator[Complaint]:
    """Find references to answers that nobody is asked for."""
    listed = [
        ((*profile.path, field, index), value)
        for field in ("command", "args")
        for index, value in enumerate(profile.content.get(field, ()))
    ]
    named = [((*profile.path, "env", name), value) for name, value in profile.content.get("env", {}).items()]
    for path, value in (*listed, *named):
        if isinstance(value, dict) and not allows_value_at(manifest.get("inputs"), value["input"]):
            yield (*path, "input"), f"The inputs have no text, number or choice at {value['input']}."


def _ports(manifest: Json, profile: _Profile) -> Iterator[Complaint]:
    left = {(port["port"], port.get("protocol", "tcp")) for port in manifest["footprint"].get("ports", ())}
    inside: set[tuple[int, str]] = set()
    outside: set[tuple[int, str]] = set()
    for index, port in enumerate(profile.content.get("ports", ())):
        protocol = port.get("protocol", "tcp")
        own, offered = (port["container_port"], protocol), (port.get("host_port", port["container_port"]), protocol)
        if own in inside:
            yield (*profile.path, "ports", index, "container_port"), f"The port {own[0]}/{protocol} is listed twice."
        if offered in outside:
            yield (*profile.path, "ports", index), f"The host's port {offered[0]}/{protocol} is used twice."
        if offered[0] < 1024:
            yield (*profile.path, "ports", index), "Ports of the host below 1024 are the system's; name a host_port."
        elif offered not in left:
            yield (
                (*profile.path, "ports", index),
                f"The footprint does not name {offered[0]}/{protocol}: no teardown would look.",
            )
        inside.add(own)
        outside.add(offered)


def _shared_ports(profiles: Sequence[_Profile]) -> Iterator[Complaint]:
    """Find ports of a host that two components of an allocation group want."""
    taken: dict[tuple[str, int, str], str] = {}
    for profile in profiles:
        group = (profile.component or {}).get("allocation_group")
        for index, port in enumerate(profile.content.get("ports", ())):
            if profile.component is None or group is None:
                continue
            offered = (group, port.get("host_port", port["container_port"]), port.get("protocol", "tcp"))
            other = taken.setdefault(offered, profile.component["key"])
            if other != profile.component["key"]:
                message = (
                    f"{other} is on the same allocation, and has the host's port {offered[1]}/{offered[2]} already."
                )
                yield (*profile.path, "ports", index), message


def _mounts(profile: _Profile) -> Iterator[Complaint]:
    """Check names and paths of volumes and further artifacts: one path has one of them."""
    names: set[str] = set()
    for index, volume in enumerate(profile.content.get("volumes", ())):
        if volume["name"] in names:
            yield (*profile.path, "volumes", index, "name"), f"The name {volume['name']} is used twice."
        names.add(volume["name"])
    for index, artifact in enumerate(profile.content.get("artifacts", ())):
        if artifact["digest"] == profile.content["image"]:
            yield (*profile.path, "artifacts", index, "digest"), "This is the image; name further files here."
    paths: set[str] = set()
    for field in ("volumes", "artifacts"):
        for index, mount in enumerate(profile.content.get(field, ())):
            for message in _path_faults(mount["path"], paths):
                yield (*profile.path, field, index, "path"), message
            paths.add(mount["path"])


def _path_faults(path: str, others: set[str]) -> Iterator[str]:
    parts = path.split("/")[1:]
    if path in others:
        yield f"The path {path} is used twice."
    if any(set(part) == {"."} for part in parts):
        yield "The path is not in its shortest form: it has a part of dots."
    elif parts[0] in _OF_THE_SYSTEM:
        yield f"/{parts[0]} is the system's, also in a container."


def _gpus(manifest: Json, profile: _Profile) -> Iterator[Complaint]:
    """A number of GPUs must be there on every allocation that the version accepts."""
    layers = [manifest["compatibility"], (profile.component or {}).get("compatibility", {})]
    wanted, least = profile.content.get("gpus", 0), max(layer.get("min_gpu_count", 0) for layer in layers)
    if wanted != "all" and wanted > least:
        message = f"It needs {wanted} GPUs, and an allocation may have {least}; raise compatibility.min_gpu_count."
        yield (*profile.path, "gpus"), message
