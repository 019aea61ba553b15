"""Reads `metering` of app.yaml: counters of services that hosts read, and what they count for."""

import re
from dataclasses import dataclass

from gpuaas_compose.typed_reader import TypedReader
from gpuaas_compose.yaml_text import Path

MOST_COUNTERS, MOST_OF_SERVICE, MOST_LABELS = 32, 16, 8
CONTAINER_SECONDS = "container_seconds"  # counted by default for every service
_FIELDS = ("unit", "description", "service", "port", "path", "metric", "labels")
_KEY = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_METRIC = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]{0,199}")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,99}")
_PATH = re.compile(r"/[A-Za-z0-9_.~/-]{0,199}")
_WORD = "a word of lower-case letters, digits, - and _"


@dataclass(frozen=True, slots=True)
class MeteredCounter:
    """A counter on a page of a service, in the text format of Prometheus; `port` is the container's."""

    key: str
    unit: str
    description: str | None
    service: str
    port: int
    path: str | None
    metric: str
    labels: tuple[tuple[str, str], ...]
    place: Path


def read_metering(reader: TypedReader, value: object) -> tuple[MeteredCounter, ...]:
    """Return the counters. Every fault is refused with its place."""
    listed = reader.mapping(("metering",), value)
    if len(listed) > MOST_COUNTERS:
        reader.refuse(("metering",), f"An app has at most {MOST_COUNTERS} counters.")
    found = [_read(reader, ("metering", key), key, one) for key, one in list(listed.items())[:MOST_COUNTERS]]
    for service in {one.service for one in found}:
        mine = [one for one in found if one.service == service]
        if len(mine) > MOST_OF_SERVICE:
            reader.refuse_key(mine[MOST_OF_SERVICE].place, f"A service has at most {MOST_OF_SERVICE} counters.")
    return tuple(found)


def _read(reader: TypedReader, path: Path, key: str, value: object) -> MeteredCounter:
    if _KEY.fullmatch(key) is None:
        reader.refuse_key(path, f"The key must be {_WORD}.")
    elif key == CONTAINER_SECONDS:
        reader.refuse_key(path, "The platform counts how long containers run by default; use another key.")
    one = reader.fields(path, value, _FIELDS)
    for name in ("service", "port", "metric"):
        if name not in one:
            reader.refuse(path, f"{name} is missing.")
    port = reader.integer((*path, "port"), one["port"], 1, 65535) if "port" in one else None
    description = reader.line((*path, "description"), one["description"]) if "description" in one else None
    service = reader.line((*path, "service"), one["service"]) if "service" in one else None
    return MeteredCounter(
        key=key,
        unit=_match(reader, (*path, "unit"), one.get("unit", "count"), _KEY, _WORD),
        description=description,
        service=service or "",
        port=port or 0,
        path=_match(reader, (*path, "path"), one["path"], _PATH, "a path that begins with /")
        if "path" in one
        else None,
        metric=_match(reader, (*path, "metric"), one.get("metric", "absent"), _METRIC, "the name of a counter"),
        labels=_labels(reader, (*path, "labels"), one["labels"]) if "labels" in one else (),
        place=path,
    )


def _labels(reader: TypedReader, path: Path, value: object) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    for name, text in reader.mapping(path, value).items():
        if _LABEL.fullmatch(name) is None:
            reader.refuse_key((*path, name), "This is not the name of a label.")
        line = reader.line((*path, name), text)
        if line is not None and (len(line) > 200 or not line.isprintable()):
            reader.refuse((*path, name), "The value of a label is a line of at most 200 characters.")
        found.append((name, line or ""))
    if len(found) > MOST_LABELS:
        reader.refuse(path, f"A counter is chosen by at most {MOST_LABELS} labels.")
    return tuple(found)


def _match(reader: TypedReader, path: Path, value: object, pattern: re.Pattern[str], says: str) -> str:
    text = reader.line(path, value)
    if text is not None and pattern.fullmatch(text) is None:
        reader.refuse(path, f"This must be {says}.")
    return text or ""
