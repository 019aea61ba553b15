"""Reads a compose file into services, and lists everything in it that is refused, each with its line."""

import re
import shlex
from dataclasses import dataclass

from gpuaas_compose.compose_keys import DEPENDENCY, NAMED_VOLUME, SERVICE, TOP
from gpuaas_compose.environment import FileRefused, ReadFile, read_environment
from gpuaas_compose.healthchecks import read_check
from gpuaas_compose.ports_and_volumes import read_exposed, read_mounts, read_ports
from gpuaas_compose.resources import read_resources
from gpuaas_compose.service_secrets import read_secret_files, read_secrets
from gpuaas_compose.services import Service, ServicePort, Value
from gpuaas_compose.typed_reader import TypedReader
from gpuaas_compose.yaml_text import Document, Fault, Path, printable

MOST_SERVICES = 32
MOST_PORTS = 32
EXAMPLE_DIGEST = f"sha256:{'0' * 64}"
_SERVICE_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_VOLUME_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_IMAGE = re.compile(r"([a-z0-9][A-Za-z0-9._:/-]{0,254})@(sha256:[0-9a-f]{64})")
_USER = re.compile(r"([0-9]{1,10})(?::([0-9]{1,10}))?")
_RESTARTS = {"no": "never", "always": "always", "unless-stopped": "always", "on-failure": "on_failure"}
_CONDITIONS = ("service_started", "service_healthy")

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class ComposeFile:
    """Holds what was understood of the file. It is complete only if there are no faults."""

    services: tuple[Service, ...]
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class _Named:
    """Holds what services of the file can refer to."""

    volumes: frozenset[str]
    secrets: frozenset[str]


def refuse_files(name: str) -> str:
    """Refuse every file: for a compose text that has no folder."""
    raise FileRefused("there is no folder to read it from.")


def read_compose(
    document: Document, inputs: frozenset[str] | None = None, read_file: ReadFile = refuse_files
) -> ComposeFile:
    """Read the services. `inputs` are the names that ${name} may have; None takes any."""
    reader = TypedReader(document, inputs)
    top = reader.known((), document.value, TOP)
    named = _Named(_volumes(reader, top.get("volumes")), read_secrets(reader, top.get("secrets")))
    listed = reader.mapping(("services",), top["services"]) if "services" in top else {}
    if not listed:
        reader.refuse(("services",), "The file has no services.")
    if len(listed) > MOST_SERVICES:
        reader.refuse(("services",), f"An app has at most {MOST_SERVICES} services.")
    # Services are compared with each other, so each further one costs more: those above the limit are not read.
    first = list(listed.items())[:MOST_SERVICES]
    read = [_service(reader, name, value, named, read_file) for name, value in first]
    _check_dependencies(reader, read, frozenset(listed))
    used = {one.secret for service in read for one in service.secrets}
    for name in sorted(named.secrets - used):
        reader.refuse_key(("secrets", name), "No service reads this secret.")
    return ComposeFile(tuple(read), tuple(sorted(set(reader.faults))))


def _volumes(reader: TypedReader, value: object) -> frozenset[str]:
    if value is None:
        return frozenset()
    for name, options in reader.mapping(("volumes",), value).items():
        if not _VOLUME_NAME.fullmatch(name):
            message = "The name of a volume has lower-case letters, digits, - and _, and at most 40 of them."
            reader.refuse_key(("volumes", name), message)
        if options is not None:
            reader.known(("volumes", name), options, NAMED_VOLUME)
    return frozenset(reader.mapping(("volumes",), value))


def _service(reader: TypedReader, name: str, value: object, named: _Named, read_file: ReadFile) -> Service:
    """Read one service. Where something is refused, it has what was understood, so that the rest can be compared."""
    path: Path = ("services", name)
    if not _SERVICE_NAME.fullmatch(name):
        message = "The name of a service is its address. Use at most 40 lower-case letters, digits, - and _."
        reader.refuse_key(path, message)
    given = reader.known(path, value, SERVICE)
    image = _image(reader, path, given)
    if isinstance(value, dict):
        _check_build(reader, (*path, "build"), value.get("build"))
    depends_on, healthy_first = _depends_on(reader, (*path, "depends_on"), given.get("depends_on"))
    gpus, limits = read_resources(reader, path, given)
    mounts = tuple(read_mounts(reader, (*path, "volumes"), given.get("volumes", []), named.volumes))
    check, check_place = (None, None)
    if "healthcheck" in given:
        check, check_place = read_check(reader, (*path, "healthcheck"), given["healthcheck"], name)
    return Service(
        name=name,
        repository=image[0],
        digest=image[1],
        entrypoint=_arguments(reader, (*path, "entrypoint"), given.get("entrypoint"), least=1),
        command=_arguments(reader, (*path, "command"), given.get("command")),
        environment=read_environment(reader, path, given, read_file),
        ports=_ports(reader, path, given),
        mounts=mounts,
        secrets=read_secret_files(reader, (*path, "secrets"), given.get("secrets", []), named.secrets, mounts),
        gpus=gpus,
        limits=limits,
        user=_user(reader, (*path, "user"), given.get("user")),
        read_only="read_only" in given and reader.boolean((*path, "read_only"), given["read_only"]),
        restart=_restart(reader, (*path, "restart"), given.get("restart", "no")),
        check=check,
        check_place=check_place,
        depends_on=depends_on,
        healthy_first=healthy_first,
        stop_timeout_seconds=_stop_timeout(reader, (*path, "stop_grace_period"), given.get("stop_grace_period")),
    )


def _image(reader: TypedReader, path: Path, given: Json) -> tuple[str, str]:
    """Return the repository and the digest; both empty if the image is refused."""
    if "image" not in given:
        reader.refuse(path, "Name the service's image by its digest: the platform builds no images.")
        return "", ""
    text = reader.text((*path, "image"), given["image"])
    found = _IMAGE.fullmatch(text) if text is not None else None
    if text is not None and found is None:
        bad = "The digest of an image is sha256: and 64 hexadecimal digits." if "@" in text else ""
        reader.refuse((*path, "image"), bad or "Name the image by its digest, NAME@sha256:…: a tag can move.")
    if found is not None and found[2] == EXAMPLE_DIGEST:
        reader.refuse((*path, "image"), "This is the example's digest; write that of your image.")
    return (found[1], found[2]) if found else ("", "")


def _check_build(reader: TypedReader, path: Path, value: object) -> None:
    """Refuse a build that uses files outside of the app's folder. Nothing is built here, but other tools may build it."""
    if value is None:
        return
    named = {"context": value} if isinstance(value, str) else reader.mapping(path, value)
    for key in ("context", "dockerfile"):
        text = named.get(key)
        if isinstance(text, str) and (text.startswith(("/", "~")) or ".." in text.replace("\\", "/").split("/")):
            place = path if isinstance(value, str) else (*path, key)
            reader.refuse(place, f"The {key} of a build must be inside the app's folder.")


def _arguments(reader: TypedReader, path: Path, value: object, least: int = 0) -> tuple[Value, ...] | None:
    if value is None:
        return None
    items: list[object]
    if isinstance(value, str):
        try:
            items = list(shlex.split(value))
        except ValueError:
            reader.refuse(path, "A quote is not closed.")
            return None
        places = [path] * len(items)
    else:
        items = reader.sequence(path, value)
        places = [(*path, index) for index in range(len(items))]
    if not least <= len(items) <= 128:
        reader.refuse(path, f"This must have from {least} to 128 words.")
        return None
    read = (reader.value(place, item) for place, item in zip(places, items, strict=True))
    return tuple(word for word in read if word is not None)


def _ports(reader: TypedReader, path: Path, given: Json) -> tuple[ServicePort, ...]:
    published = read_ports(reader, (*path, "ports"), given["ports"]) if "ports" in given else []
    exposed = read_exposed(reader, (*path, "expose"), given["expose"]) if "expose" in given else []
    if len(published) + len(exposed) > MOST_PORTS:
        reader.refuse((*path, "ports"), f"A service has at most {MOST_PORTS} ports.")
        return ()
    inside = [(port.container_port, port.protocol) for port in published]
    for port in inside:
        if inside.count(port) > 1:
            reader.refuse((*path, "ports"), f"The port {port[0]}/{port[1]} is published twice.")
    return (*published, *(port for port in exposed if (port.container_port, port.protocol) not in inside))


def _user(reader: TypedReader, path: Path, value: object) -> tuple[int, int | None] | None:
    if value is None:
        return None
    text = reader.text(path, value)
    found = _USER.fullmatch(text) if text is not None else None
    numbers = [] if found is None else [int(part) for part in found.groups() if part is not None]
    if text is not None and (not numbers or max(numbers) > 2147483647):
        reader.refuse(path, "Write the user as a number, UID or UID:GID: only the image knows its user names.")
        return None
    return (numbers[0], numbers[1] if len(numbers) > 1 else None) if numbers else None


def _restart(reader: TypedReader, path: Path, value: object) -> str:
    text = value if isinstance(value, str) else ""
    if text.startswith("on-failure:"):
        reader.refuse(path, "Leave the number out: after a few quick failures the service counts as failed.")
    elif text not in _RESTARTS:
        reader.refuse(path, 'restart is "no", always, unless-stopped or on-failure; quote "no".')
    return _RESTARTS.get(text, "never")


def _stop_timeout(reader: TypedReader, path: Path, value: object) -> int | None:
    return None if value is None else reader.seconds(path, value, 1, 600)


def _depends_on(reader: TypedReader, path: Path, value: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the services that this one needs, and those of them that must be healthy before it starts."""
    if value is None:
        return (), ()
    if isinstance(value, list):
        names = [reader.text((*path, index), item) for index, item in enumerate(value)]
        return tuple(dict.fromkeys(name for name in names if name is not None)), ()
    healthy: list[str] = []
    listed = reader.mapping(path, value)
    for name, options in listed.items():
        condition = reader.known((*path, name), options, DEPENDENCY).get("condition", "service_started")
        if condition == "service_healthy":
            healthy.append(name)
        if condition not in _CONDITIONS:
            message = f"The condition must be {' or '.join(_CONDITIONS)}: a service runs until its instance ends."
            reader.refuse((*path, name, "condition"), message)
    return tuple(listed), tuple(healthy)


def _check_dependencies(reader: TypedReader, services: list[Service], names: frozenset[str]) -> None:
    wants = {service.name: [name for name in service.depends_on if name in names] for service in services}
    for service in services:
        path = ("services", service.name, "depends_on")
        for name in service.depends_on:
            if name not in names:
                reader.refuse(path, f"There is no service {printable(name)}.")
        if circle := _circle(service.name, wants):
            reader.refuse(path, f"The service depends on itself: {' → '.join(circle)}.")


def _circle(start: str, wants: dict[str, list[str]]) -> list[str]:
    """Return the shortest way from a service back to itself; empty when there is none."""
    ways: list[list[str]] = [[start]]
    seen: set[str] = set()
    for way in ways:  # grows while we walk
        for wanted in wants.get(way[-1], ()):
            if wanted == start:
                return [*way, start]
            if wanted not in seen:
                seen.add(wanted)
                ways.append([*way, wanted])
    return []
