"""Reads the ports and volumes of a service, in their short and long forms."""

import re

from gpuaas_compose.compose_keys import PORT, VOLUME
from gpuaas_compose.services import Mount, ServicePort
from gpuaas_compose.typed_reader import TypedReader
from gpuaas_compose.yaml_text import Path

_VOLUME_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_PATH = re.compile(r"(/[A-Za-z0-9_.@+-]{1,128}){1,16}")
_OF_THE_SYSTEM = ("proc", "sys", "dev", "run")
_HOST_FOLDER = "A volume is never a folder of the host; name a volume."
_LOWEST_HOST_PORT = 1024
MOST_MOUNTS = 16


def read_ports(reader: TypedReader, path: Path, value: object) -> list[ServicePort]:
    found = (_port(reader, (*path, index), item) for index, item in enumerate(reader.sequence(path, value)))
    return [port for port in found if port is not None]


def read_exposed(reader: TypedReader, path: Path, value: object) -> list[ServicePort]:
    ports = []
    for index, item in enumerate(reader.sequence(path, value)):
        text = reader.text((*path, index), item)
        port = None if text is None else _container_port(reader, (*path, index), text)
        if port is not None:
            ports.append(ServicePort(port[0], None, port[1]))
    return ports


def _port(reader: TypedReader, path: Path, item: object) -> ServicePort | None:
    if isinstance(item, dict):
        return _long_port(reader, path, item)
    text = reader.text(path, item)
    if text is None:
        return None
    *host, inside = text.split(":")
    if len(host) > 1:
        reader.refuse(path, "A port is offered on the allocation's own address; leave the address out.")
        return None
    target = _container_port(reader, path, inside)
    if target is None:
        return None
    return _offered(reader, path, target, host[0] if host else target[0])


def _long_port(reader: TypedReader, path: Path, item: object) -> ServicePort | None:
    given = reader.known(path, item, PORT)
    protocol = given.get("protocol", "tcp")
    if "target" not in given:
        reader.refuse(path, "A port must have a target.")
        return None
    if protocol not in ("tcp", "udp"):
        reader.refuse((*path, "protocol"), "The protocol must be tcp or udp.")
        return None
    target = reader.integer((*path, "target"), given["target"], 1, 65535)
    if target is None:
        return None
    place = (*path, "published") if "published" in given else (*path, "target")
    return _offered(reader, place, (target, str(protocol)), given.get("published", target))


def _container_port(reader: TypedReader, path: Path, text: str) -> tuple[int, str] | None:
    number, _, protocol = text.partition("/")
    if "-" in number:
        reader.refuse(path, "A range of ports is refused; list each port.")
        return None
    if protocol not in ("", "tcp", "udp"):
        reader.refuse(path, "The protocol must be tcp or udp.")
        return None
    port = reader.integer(path, number, 1, 65535)
    return None if port is None else (port, protocol or "tcp")


def _offered(reader: TypedReader, path: Path, target: tuple[int, str], published: object) -> ServicePort | None:
    if isinstance(published, str) and "-" in published:
        reader.refuse(path, "A range of ports is refused; list each port.")
        return None
    number = reader.integer(path, published, 1, 65535)
    if number is not None and number < _LOWEST_HOST_PORT:
        message = f"Ports of the host below {_LOWEST_HOST_PORT} belong to the system; publish another, as in 8080:{target[0]}."
        reader.refuse(path, message)
        return None
    return None if number is None else ServicePort(target[0], number, target[1])


def read_mounts(reader: TypedReader, path: Path, value: object, volumes: frozenset[str]) -> list[Mount]:
    mounts: list[Mount] = []
    items = reader.sequence(path, value)
    if len(items) > MOST_MOUNTS:
        reader.refuse(path, f"A service has at most {MOST_MOUNTS} volumes.")
        return []
    for index, item in enumerate(items):
        place = (*path, index)
        mount = _long_mount(reader, place, item) if isinstance(item, dict) else _short_mount(reader, place, item)
        if mount is None or not is_allowed_path(reader, place, mount.path):
            continue
        if mount.volume not in volumes:
            reader.refuse(place, f"The file has no volume {mount.volume}; name it under volumes.")
        elif any(mount.path == other.path or mount.volume == other.volume for other in mounts):
            reader.refuse(place, "The service has this volume or this path twice.")
        else:
            mounts.append(mount)
    return mounts


def _short_mount(reader: TypedReader, path: Path, item: object) -> Mount | None:
    text = reader.text(path, item)
    if text is None:
        return None
    source, *rest = text.split(":")
    if not rest:
        reader.refuse(path, "A volume without a name ends with its container; name it, as in data:/data.")
        return None
    if _is_host_folder(source):
        reader.refuse(path, _HOST_FOLDER)
        return None
    mode = rest[1] if len(rest) == 2 else ""
    if len(rest) > 2 or mode not in ("", "rw", "ro") or not _VOLUME_NAME.fullmatch(source):
        reader.refuse(path, "This must be NAME:PATH or NAME:PATH:ro.")
        return None
    return Mount(source, rest[0], mode == "ro")


def _long_mount(reader: TypedReader, path: Path, item: object) -> Mount | None:
    given = reader.known(path, item, VOLUME)
    kind = given.get("type")
    if kind == "bind" or _is_host_folder(str(given.get("source", ""))):
        reader.refuse(path, _HOST_FOLDER)
        return None
    if kind != "volume":
        reader.refuse(path, "The type must be volume; other mounts are refused.")
        return None
    source = reader.text((*path, "source"), given.get("source"))
    target = reader.text((*path, "target"), given.get("target"))
    read_only = "read_only" in given and reader.boolean((*path, "read_only"), given["read_only"])
    if source is None or target is None:
        return None
    if not _VOLUME_NAME.fullmatch(source):
        reader.refuse((*path, "source"), "The name of a volume has lower-case letters, digits, - and _.")
        return None
    return Mount(source, target, read_only)


def _is_host_folder(source: str) -> bool:
    return source.startswith((".", "/", "~")) or "/" in source or "\\" in source


def is_allowed_path(reader: TypedReader, path: Path, target: str, allowed: str = "") -> bool:
    """Tell whether something can be at this path of the container, and refuse it if not. `allowed`: also in this folder."""
    parts = target.split("/")[1:]
    if not _PATH.fullmatch(target) or any(set(part) == {"."} for part in parts):
        reader.refuse(
            path, "The path in the container must be absolute, without . and .., of letters, digits and _.@+-"
        )
        return False
    if parts[0] in _OF_THE_SYSTEM and not (allowed and target.startswith(allowed)):
        reader.refuse(path, f"/{parts[0]} belongs to the system, also in a container.")
        return False
    return True
