"""What a runtime profile of the right form may still get wrong, and why some fields of other formats do not exist in it."""

from collections.abc import Iterator
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


def profile_complaints(manifest: Json) -> Iterator[Complaint]:
    profile: Json | None = manifest.get(PLACE)
    kind = manifest["artifact"]["kind"]
    if profile is None:
        if kind == "launchable":
            yield ("artifact", "kind"), "A launchable version has a runtime_profile."
        return
    if kind == "controller":
        yield (PLACE,), "A version of the kind controller runs no image; its kind would be oci or launchable."
    if profile["image"] != manifest["artifact"]["digest"]:
        yield (PLACE, "image"), "This is not the digest of the version's artifact."
    yield from _variables(profile)
    yield from _inputs(manifest, profile)
    yield from _ports(manifest, profile)
    yield from _mounts(profile)
    yield from _gpus(manifest, profile)


def _variables(profile: Json) -> Iterator[Complaint]:
    for name in profile.get("env", ()):
        if name in _RESERVED_NAMES or name.startswith(_RESERVED_PREFIXES):
            yield (PLACE, "env", name), f"The platform sets {name}."


def _inputs(manifest: Json, profile: Json) -> Iterator[Complaint]:
    """Find references to answers that nobody is asked for."""
    listed = [
        ((PLACE, field, index), value) for field in ("command", "args") for index, value in _items(profile, field)
    ]
    named = [((PLACE, "env", name), value) for name, value in profile.get("env", {}).items()]
    for path, value in (*listed, *named):
        if isinstance(value, dict) and not allows_value_at(manifest.get("inputs"), value["input"]):
            yield (*path, "input"), f"The inputs have no text, number or choice at {value['input']}."


def _items(profile: Json, field: str) -> Iterator[tuple[int, Any]]:
    yield from enumerate(profile.get(field, ()))


def _ports(manifest: Json, profile: Json) -> Iterator[Complaint]:
    left = {(port["port"], port.get("protocol", "tcp")) for port in manifest["footprint"].get("ports", ())}
    inside: set[tuple[int, str]] = set()
    outside: set[tuple[int, str]] = set()
    for index, port in enumerate(profile.get("ports", ())):
        protocol = port.get("protocol", "tcp")
        own, offered = (port["container_port"], protocol), (port.get("host_port", port["container_port"]), protocol)
        if own in inside:
            yield (PLACE, "ports", index, "container_port"), f"The port {own[0]}/{protocol} is listed twice."
        if offered in outside:
            yield (PLACE, "ports", index), f"The host's port {offered[0]}/{protocol} is used twice."
        if offered[0] < 1024:
            yield (PLACE, "ports", index), "Ports of the host below 1024 are the system's; name a host_port."
        elif offered not in left:
            yield (
                (PLACE, "ports", index),
                f"The footprint does not name {offered[0]}/{protocol}: no teardown would look.",
            )
        inside.add(own)
        outside.add(offered)


def _mounts(profile: Json) -> Iterator[Complaint]:
    """Check names and paths of volumes and further artifacts: one path has one of them."""
    names: set[str] = set()
    for index, volume in enumerate(profile.get("volumes", ())):
        if volume["name"] in names:
            yield (PLACE, "volumes", index, "name"), f"The name {volume['name']} is used twice."
        names.add(volume["name"])
    for index, artifact in enumerate(profile.get("artifacts", ())):
        if artifact["digest"] == profile["image"]:
            yield (PLACE, "artifacts", index, "digest"), "This is the image; name further files here."
    paths: set[str] = set()
    for field in ("volumes", "artifacts"):
        for index, mount in _items(profile, field):
            for message in _path_faults(mount["path"], paths):
                yield (PLACE, field, index, "path"), message
            paths.add(mount["path"])


def _path_faults(path: str, others: set[str]) -> Iterator[str]:
    parts = path.split("/")[1:]
    if path in others:
        yield f"The path {path} is used twice."
    if any(set(part) == {"."} for part in parts):
        yield "The path is not in its shortest form: it has a part of dots."
    elif parts[0] in _OF_THE_SYSTEM:
        yield f"/{parts[0]} is the system's, also in a container."


def _gpus(manifest: Json, profile: Json) -> Iterator[Complaint]:
    """A number of GPUs must be there on every allocation that the version accepts."""
    wanted, least = profile.get("gpus", 0), manifest["compatibility"].get("min_gpu_count", 0)
    if wanted != "all" and wanted > least:
        message = f"It needs {wanted} GPUs, and an allocation may have {least}; raise compatibility.min_gpu_count."
        yield (PLACE, "gpus"), message
