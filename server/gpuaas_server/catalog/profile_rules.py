"""Finds what a runtime profile of the right form may still get wrong, and says why some fields of other formats do not exist in
it.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from gpuaas_server.catalog.footprints import allows_value_at, schema_at
from gpuaas_server.catalog.yaml_text import Path
from gpuaas_server.kernel.dataclass import dataclass

PLACE: Final = "runtime_profile"
FROM_INPUTS = "from_inputs"
# The type of the inputs that people complete a profile with.
_ASKED = {"image": "string", "command": "array", "args": "array", "env": "object", "ports": "array"}
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
    "ipc": "A container has its own memory; set shared_memory_mib in resources.",
    "devices": "Devices cannot be named; set the number of GPUs in gpus.",
    "host_path": "A volume is never a folder of the host.",
    "source": "A volume is never a folder of the host.",
    "env_file": "Environment variables are named in env.",
    "tag": "Name the image by its digest: a tag can move.",
}
_RESERVED_NAMES = ("CUDA_VISIBLE_DEVICES",)
_RESERVED_PREFIXES = ("GPUAAS_", "NVIDIA_")
_OF_THE_SYSTEM = ("proc", "sys", "dev", "run")
_SECRETS_FOLDER = "/run/secrets/"  # where images expect secrets

Json = dict[str, Any]
Complaint = tuple[Path, str]


@dataclass(frozen=True, slots=True)
class _Profile:
    """One runtime profile of the manifest, and where it is. `component` is the one it belongs to; None: the version."""

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
    yield from _shapes(manifest)
    yield from _images(manifest, profiles)
    for profile in profiles:
        yield from _variables(profile)
        yield from _inputs(manifest, profile)
        yield from _secrets(manifest, profile)
        yield from _ports(manifest, profile)
        yield from _mounts(profile)
        yield from _gpus(manifest, profile)
        yield from _asked(manifest, profile)
    yield from _shared_ports(profiles)


def _profiles(manifest: Json) -> Iterator[_Profile]:
    if PLACE in manifest:
        yield _Profile((PLACE,), manifest[PLACE])
    for index, component in enumerate(manifest["components"]):
        if PLACE in component:
            yield _Profile(("components", index, PLACE), component[PLACE], component)


def _shapes(manifest: Json) -> Iterator[Complaint]:
    """Find shapes of which none can run a container."""
    layers: list[tuple[Path, Json]] = [(("compatibility",), manifest["compatibility"])]
    layers += [
        (("components", index, "compatibility"), component["compatibility"])
        for index, component in enumerate(manifest["components"])
        if "compatibility" in component
    ]
    for path, layer in layers if manifest["artifact"]["kind"] == "launchable" else ():
        if "baremetal" not in layer.get("requires_capacity_shape", ("baremetal",)):
            yield (*path, "requires_capacity_shape"), "Containers run on whole hosts only; add baremetal."


def _images(manifest: Json, profiles: Sequence[_Profile]) -> Iterator[Complaint]:
    """Check that the version's artifact is an image that runs: that of its profile, or that of a component."""
    digest = manifest["artifact"]["digest"]
    for profile in profiles:
        if profile.component is None and profile.content["image"] != digest:
            yield (*profile.path, "image"), "This is not the digest of the version's artifact."
    if profiles and all(profile.component is not None and profile.content["image"] != digest for profile in profiles):
        yield ("artifact", "digest"), "No component runs this image."


def _asked(manifest: Json, profile: _Profile) -> Iterator[Complaint]:
    """Check what people complete at launch: the inputs ask for it in the right type, and nothing else depends on it."""
    asked: dict[str, str] = profile.content.get(FROM_INPUTS, {})
    if asked and profile.component is not None:
        yield (*profile.path, FROM_INPUTS), "Only the profile of the whole version is completed at launch."
    for field, place in asked.items():
        schema = schema_at(manifest.get("inputs"), place)
        if not isinstance(schema, dict) or schema.get("type") != _ASKED[field]:
            yield (*profile.path, FROM_INPUTS, field), f"The inputs have no {_ASKED[field]} at {place}."
        elif field == "image" and schema.get("x-artifact") != "oci":
            yield (*profile.path, FROM_INPUTS, field), f"The input at {place} does not say x-artifact: oci."
    if "image" in asked and (profile.content.get("artifacts") or any(PLACE in one for one in manifest["components"])):
        message = "A version whose image people choose has no further files and no profiles of components."
        yield (*profile.path, FROM_INPUTS, "image"), message
    if "ports" in asked and not all("host_port" in port for port in profile.content.get("ports", ())):
        yield (*profile.path, FROM_INPUTS, "ports"), "Each port of a profile whose ports people name has a host_port."


def is_reserved_variable(name: str) -> bool:
    return name in _RESERVED_NAMES or name.startswith(_RESERVED_PREFIXES)


def _variables(profile: _Profile) -> Iterator[Complaint]:
    for name in profile.content.get("env", ()):
        if is_reserved_variable(name):
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
        asked = value.get("input") if isinstance(value, dict) else None
        if asked is not None and not allows_value_at(manifest.get("inputs"), asked):
            yield (*path, "input"), f"The inputs have no text, number or choice at {asked}."


def _secrets(manifest: Json, profile: _Profile) -> Iterator[Complaint]:
    """Find references to secrets that the manifest does not declare, and bytes where only text can be."""
    declared = {secret["key"]: secret for secret in manifest.get("secrets", ())}
    variables = [
        ((*profile.path, "env", name, "secret"), value["secret"])
        for name, value in profile.content.get("env", {}).items()
        if isinstance(value, dict) and "secret" in value
    ]
    files = [
        ((*profile.path, "secrets", index, "secret"), file["secret"])
        for index, file in enumerate(profile.content.get("secrets", ()))
    ]
    for path, key in (*variables, *files):
        if key not in declared:
            yield path, f"The manifest declares no secret {key}."
    for path, key in variables:
        if declared.get(key, {}).get("kind") == "bytes":
            yield path, f"{key} is made of bytes, and a variable is text; give it as a file, or make it a text."


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
            yield (
                (*profile.path, "ports", index),
                "Ports of the host below 1024 belong to the system; name a host_port.",
            )
        elif offered not in left:
            yield (
                (*profile.path, "ports", index),
                f"The footprint does not name {offered[0]}/{protocol}, so no teardown would check it.",
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
    """Check names and paths of volumes, files and secrets: one path has one of them."""
    names: set[str] = set()
    for index, volume in enumerate(profile.content.get("volumes", ())):
        if volume["name"] in names:
            yield (*profile.path, "volumes", index, "name"), f"The name {volume['name']} is used twice."
        names.add(volume["name"])
    for index, file in enumerate(profile.content.get("artifacts", ())):
        if file["digest"] == profile.content["image"]:
            yield (*profile.path, "artifacts", index, "digest"), "This is the image; name further files here."
    paths: set[str] = set()
    for field in ("volumes", "artifacts", "secrets"):
        for index, mount in enumerate(profile.content.get(field, ())):
            for message in _path_faults(mount["path"], paths, for_secret=field == "secrets"):
                yield (*profile.path, field, index, "path"), message
            paths.add(mount["path"])


def _path_faults(path: str, others: set[str], *, for_secret: bool = False) -> Iterator[str]:
    parts = path.split("/")[1:]
    if path in others:
        yield f"The path {path} is used twice."
    if any(set(part) == {"."} for part in parts):
        yield "The path is not in its shortest form: it has a part of dots."
    elif parts[0] in _OF_THE_SYSTEM and not (for_secret and path.startswith(_SECRETS_FOLDER)):
        yield f"/{parts[0]} belongs to the system, also in a container."


def _gpus(manifest: Json, profile: _Profile) -> Iterator[Complaint]:
    """Check that a number of GPUs is there on every allocation that the version accepts."""
    layers = [manifest["compatibility"], (profile.component or {}).get("compatibility", {})]
    wanted, least = profile.content.get("gpus", 0), max(layer.get("min_gpu_count", 0) for layer in layers)
    if wanted != "all" and wanted > least:
        message = f"The profile needs {wanted} GPUs, but allocations may have only {least}; raise compatibility.min_gpu_count."
        yield (*profile.path, "gpus"), message
