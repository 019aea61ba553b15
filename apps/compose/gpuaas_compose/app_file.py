"""Reads app.yaml: what the catalogue shows, what people answer, and which services share an allocation."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gpuaas_compose.services import Check
from gpuaas_compose.typed_reader import TypedReader
from gpuaas_compose.usage_section import MeteredCounter, read_metering
from gpuaas_compose.yaml_text import Document, Fault, Path, printable

_FORMAT = 1
_SLUG = re.compile(r"[a-z][a-z0-9-]{1,38}[a-z0-9]")
_KEY = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_VERSION = re.compile(r"(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){2}([-+][0-9A-Za-z.+-]{1,40})?")
_RUNTIME_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+~:-]{0,63}")
_PATH = re.compile(r"/[A-Za-z0-9_.~/-]{0,199}")
_URL = re.compile(r"https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9_.~%/?=&#-]*)?")
_MOST_KEYWORDS, _MOST_ENDPOINTS = 20, 16
_SHAPES = ("baremetal", "gpu_slice")
_PROTOCOLS = ("http", "https", "tcp", "ssh")
_FIELDS = (
    "app",
    "slug",
    "display_name",
    "description",
    "version",
    "runtime_version",
    "category",
    "keywords",
    "documentation_url",
    "requires_capacity_shape",
    "allocations",
    "inputs",
    "endpoints",
    "probes",
    "images",
    "secrets",
    "metering",
)
# Fields of a manifest that an app.yaml cannot have, and why.
_REFUSED = {
    "components": "The services of the compose file are the components.",
    "footprint": "The footprint is derived from the compose file.",
    "artifact": "The images of the compose file are the artifacts.",
}
_OF_GENERATED, _OF_GIVEN = ("kind", "length"), ("required",)
_NO_VALUES = dict.fromkeys(
    ("value", "file", "environment"), "A value is never published: it is given at launch, or generated."
)
_REQUIRED = ("app", "slug", "display_name", "version", "runtime_version")

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Says what a service offers to people; `port` is the container's."""

    key: str
    service: str
    port: int
    label: str | None
    protocol: str
    path: str | None
    place: Path


@dataclass(frozen=True, slots=True)
class AppFile:
    """Holds what was understood of app.yaml. It is complete only if there are no faults."""

    slug: str = ""
    display_name: str = ""
    description: str = ""
    version: str = ""
    runtime_version: str = ""
    ui: Json = field(default_factory=dict)  # category, keywords, documentation_url
    shapes: tuple[str, ...] = ()
    allocations: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # services by allocation; empty: all on one
    inputs: Json = field(default_factory=dict)
    endpoints: tuple[Endpoint, ...] = ()
    probes: Mapping[str, Check] = field(default_factory=dict)  # by service
    images: Mapping[str, str] = field(default_factory=dict)  # archives in the app's folder, by service
    secrets: Mapping[str, Json] = field(default_factory=dict)  # where values come from, in the manifest's words
    metering: tuple[MeteredCounter, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def input_names(self) -> frozenset[str]:
        properties = self.inputs.get("properties")
        return frozenset(properties) if isinstance(properties, dict) else frozenset()


def read_app(document: Document) -> AppFile:
    reader = TypedReader(document)
    given = reader.fields((), document.value, _FIELDS, _REFUSED)
    for name in _REQUIRED:
        if name not in given:
            reader.refuse((), f"{name} is missing.")
    if given.get("app", _FORMAT) != _FORMAT:
        reader.refuse(("app",), f"This must be {_FORMAT}, the version of this format.")
    read = _FieldReader(reader, given)
    app = AppFile(
        slug=read.matching("slug", _SLUG, "3 to 40 lower-case letters, digits and -"),
        display_name=read.line("display_name", 100),
        description=read.description(),
        version=read.matching("version", _VERSION, "semantic versioning, such as 0.1.0"),
        runtime_version=read.matching(
            "runtime_version", _RUNTIME_VERSION, "the program's version: letters, digits and ._+~:-"
        ),
        ui=read.ui(),
        shapes=read.shapes(),
        allocations=read.allocations(),
        inputs=read.inputs(),
        endpoints=read.endpoints(),
        probes=read.probes(),
        images=read.images(),
        secrets=read.secrets(),
        metering=read_metering(reader, given["metering"]) if given.get("metering") is not None else (),
    )
    return replace(app, faults=tuple(sorted(set(reader.faults))))


@dataclass(frozen=True, slots=True)
class _FieldReader:
    """Reads the fields of app.yaml, one method for each kind."""

    reader: TypedReader
    given: Json

    def matching(self, name: str, pattern: re.Pattern[str], says: str) -> str:
        if name not in self.given:
            return ""
        return self._match((name,), self.given[name], pattern, says)

    def _match(self, path: Path, value: object, pattern: re.Pattern[str], says: str) -> str:
        text = self.reader.line(path, value)
        if text is not None and pattern.fullmatch(text) is None:
            self.reader.refuse(path, f"This must be {says}.")
            return ""
        return text or ""

    def line(self, name: str, most: int) -> str:
        text = self.reader.line((name,), self.given[name]) if name in self.given else ""
        if text is not None and name in self.given and (not text.strip() or text != text.strip() or len(text) > most):
            self.reader.refuse((name,), f"This must be a line of at most {most} characters.")
        return text or ""

    def description(self) -> str:
        value = self.given.get("description", "")
        if not isinstance(value, str) or len(value) > 4000:
            self.reader.refuse(("description",), "This must be a text of at most 4000 characters.")
            return ""
        return value.strip()

    def ui(self) -> Json:
        found: Json = {}
        if "category" in self.given:
            found["category"] = self.matching("category", _KEY, "a word of lower-case letters, digits, - and _")
        if "keywords" in self.given:
            words = self.reader.sequence(("keywords",), self.given["keywords"])
            if len(words) > _MOST_KEYWORDS:
                self.reader.refuse(("keywords",), f"An app has at most {_MOST_KEYWORDS} keywords.")
            found["keywords"] = [self.reader.line(("keywords", index), word) for index, word in enumerate(words)]
        if "documentation_url" in self.given:
            found["documentation_url"] = self.matching("documentation_url", _URL, "an https:// address")
        return found

    def shapes(self) -> tuple[str, ...]:
        if "requires_capacity_shape" not in self.given:
            return ()
        shapes = self.reader.sequence(("requires_capacity_shape",), self.given["requires_capacity_shape"])
        for index, shape in enumerate(shapes):
            if shape not in _SHAPES:
                self.reader.refuse(("requires_capacity_shape", index), f"A shape must be {' or '.join(_SHAPES)}.")
        return tuple(str(shape) for shape in shapes if shape in _SHAPES)

    def allocations(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        seen: set[str] = set()
        given = self.given.get("allocations")
        for name, value in self.reader.mapping(("allocations",), given).items() if given is not None else ():
            path: Path = ("allocations", name)
            if _KEY.fullmatch(name) is None:
                self.reader.refuse_key(path, "The name of an allocation has lower-case letters, digits, - and _.")
            services = []
            for index, item in enumerate(self.reader.sequence(path, value)):
                service = self.reader.line((*path, index), item)
                if service in seen:
                    self.reader.refuse((*path, index), f"{printable(str(service))} is on an allocation already.")
                elif service is not None:
                    services.append(service)
                    seen.add(service)
            found[name] = tuple(services)
        return found

    def inputs(self) -> Json:
        given = self.given.get("inputs")
        if given is None:
            return {}
        inputs = self.reader.mapping(("inputs",), given)
        if inputs.get("type") != "object" or not isinstance(inputs.get("properties", {}), dict):
            self.reader.refuse(("inputs",), "Inputs must be a JSON Schema of the type object, with properties.")
            return {}
        return inputs

    def endpoints(self) -> tuple[Endpoint, ...]:
        found: list[Endpoint] = []
        names = ("key", "service", "port", "label", "protocol", "path")
        given = self.given.get("endpoints")
        items = self.reader.sequence(("endpoints",), given) if given is not None else []
        if len(items) > _MOST_ENDPOINTS:
            self.reader.refuse(("endpoints",), f"An app has at most {_MOST_ENDPOINTS} endpoints.")
        for index, item in enumerate(items[:_MOST_ENDPOINTS]):
            path: Path = ("endpoints", index)
            one = self.reader.fields(path, item, names)
            port = self.reader.integer((*path, "port"), one.get("port"), 1, 65535)
            key = self._match((*path, "key"), one.get("key"), _KEY, "a word of lower-case letters, digits, - and _")
            protocol = one.get("protocol", "http")
            if protocol not in _PROTOCOLS:
                self.reader.refuse((*path, "protocol"), f"The protocol must be one of {', '.join(_PROTOCOLS)}.")
            if any(key == other.key for other in found):
                self.reader.refuse((*path, "key"), f"The key {key} is used twice.")
            service = self.reader.line((*path, "service"), one.get("service"))
            label = self.reader.line((*path, "label"), one["label"]) if "label" in one else None
            place = (
                self._match((*path, "path"), one["path"], _PATH, "a path that begins with /") if "path" in one else None
            )
            found.append(Endpoint(key, service or "", port or 0, label, str(protocol), place, path))
        return tuple(found)

    def probes(self) -> dict[str, Check]:
        found: dict[str, Check] = {}
        given = self.given.get("probes")
        for service, value in self.reader.mapping(("probes",), given).items() if given is not None else ():
            path: Path = ("probes", service)
            one = self.reader.fields(path, value, ("port", "path"))
            port = self.reader.integer((*path, "port"), one.get("port"), 1, 65535)
            place = (
                self._match((*path, "path"), one["path"], _PATH, "a path that begins with /") if "path" in one else None
            )
            found[service] = Check(port or 0, place)
        return found

    def images(self) -> dict[str, str]:
        found: dict[str, str] = {}
        given = self.given.get("images")
        for service, value in self.reader.mapping(("images",), given).items() if given is not None else ():
            name = self.reader.line(("images", service), value)
            if name is not None:
                found[service] = name
        return found

    def secrets(self) -> dict[str, Json]:
        given = self.given.get("secrets")
        listed = self.reader.mapping(("secrets",), given).items() if given is not None else ()
        return {name: self._secret(("secrets", name), value) for name, value in listed}

    def _secret(self, path: Path, value: object) -> Json:
        """Return where the value comes from. What a source does not have is refused."""
        one = self.reader.fields(path, value, ("source", *_OF_GENERATED, *_OF_GIVEN, "description"), _NO_VALUES)
        source = one.get("source", "given")
        if source not in ("given", "generated"):
            self.reader.refuse((*path, "source"), "The source must be given or generated.")
            return {"source": "given"}
        for name in _OF_GIVEN if source == "generated" else _OF_GENERATED:
            if name in one:
                self.reader.refuse((*path, name), f"A {source} secret has no {name}.")
        found: Json = {"source": source}
        if "description" in one:
            found["description"] = self._short_line((*path, "description"), one["description"])
        if source == "given" and "required" in one:
            found["required"] = self.reader.boolean((*path, "required"), one["required"])
        if source == "generated" and "length" in one:
            found["length"] = self.reader.integer((*path, "length"), one["length"], 16, 4096)
        if source == "generated" and "kind" in one:
            found["kind"] = one["kind"]
            if one["kind"] not in ("bytes", "text"):
                self.reader.refuse((*path, "kind"), "The kind must be bytes or text.")
        return found

    def _short_line(self, path: Path, value: object) -> str:
        text = self.reader.line(path, value)
        if text is not None and (not text.strip() or len(text) > 100):
            self.reader.refuse(path, "This must be a line of at most 100 characters.")
        return text or ""
