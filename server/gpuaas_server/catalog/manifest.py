"""A manifest as a dataclass, and how it is read from a text: parse it, check it against the schema, check its sense.

`parse` says everything that is wrong at once, each with its line; an app's author corrects a file once, not ten times.
"""

import re
from collections.abc import Collection
from typing import Any, cast

import orjson

from gpuaas_server.catalog import manifest_rules, manifest_schema
from gpuaas_server.catalog.manifest_document import ComponentDocument, ManifestDocument
from gpuaas_server.catalog.yaml_text import MOST_FAULTS, Document, Fault, Unreadable
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.digests import digest_of
from gpuaas_server.kernel.errors import Problem

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Artifact:
    kind: str  # oci, launchable or controller
    digest: str


@dataclass(frozen=True, slots=True)
class Compatibility:
    """Says what an allocation must be. `requires_capacity_shape` empty: any."""

    requires_capacity_shape: tuple[str, ...] = ()
    min_gpu_count: int = 0
    max_gpu_count: int | None = None
    requires_exclusive_node: bool = False
    requires_node_network: bool = False


@dataclass(frozen=True, slots=True)
class Component:
    key: str
    display_name: str
    min: int
    max: int
    placement: str  # shared, own_allocation or own_node
    depends_on: tuple[str, ...]
    compatibility: Compatibility
    allocation_group: str | None = None  # components of one group share an allocation, and nothing else is on it


@dataclass(frozen=True, slots=True)
class Port:
    port: int
    protocol: str = "tcp"
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Footprint:
    """Lists what the app may leave on a host; after a teardown each of it must be gone."""

    units: tuple[str, ...] = ()
    processes: tuple[str, ...] = ()
    ports: tuple[Port, ...] = ()
    paths: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    users_from: tuple[str, ...] = ()  # places in the inputs where people name accounts
    mounts: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()
    cron: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Probe:
    key: str
    component: str
    kind: str  # tcp, http, unit or controller
    purpose: tuple[str, ...] = ()  # readiness, liveness; empty: it is for the app's controller
    port: int | None = None
    path: str | None = None
    expected_status: tuple[int, ...] = ()  # empty: 200 to 399
    unit: str | None = None
    interval_seconds: int = 15
    timeout_seconds: int = 3
    start_period_seconds: int = 60
    failures: int = 3
    successes: int = 1


@dataclass(frozen=True, slots=True)
class DeclaredSecret:
    """A secret of an instance. The platform makes the value of a generated one; a person gives the others."""

    key: str
    source: str  # generated or given
    display_name: str = ""
    description: str = ""
    kind: str = "text"  # of a generated value: text or bytes
    length: int = 32
    required: bool = True  # of a given value
    shared: bool = True  # members know it


@dataclass(frozen=True, slots=True)
class Dimension:
    key: str
    unit: str
    description: str = ""
    counter: Json | None = None  # where hosts read it; None: the app's controller reports it


@dataclass(frozen=True, slots=True)
class Manifest:
    """`document` is the manifest as data, for the wire and the database. `inputs`, `options`, `ui` and `runtime_profile`
    pass as they are.
    """

    slug: str
    display_name: str
    description: str
    version: str
    runtime_version: str
    artifact: Artifact
    compatibility: Compatibility
    tenant_scope: bool  # an instance can serve further projects of its tenant
    max_members: int
    components: tuple[Component, ...]
    inputs: Json
    options: Json  # schemas by kind of operation
    footprint: Footprint
    probes: tuple[Probe, ...]
    ui: Json
    metering: tuple[Dimension, ...]
    secrets: tuple[DeclaredSecret, ...]
    runtime_profile: Json | None  # how an image runs; None: the app's controller knows
    document: ManifestDocument

    def component(self, key: str) -> Component | None:
        return next((component for component in self.components if component.key == key), None)

    @property
    def content_digest(self) -> str:
        """The digest of the content. Order of keys, blanks and comments do not count."""
        return digest_of(orjson.dumps(self.document, option=orjson.OPT_SORT_KEYS))


def parse(text: str) -> Manifest:
    """Return the manifest, or raise `manifest_invalid` that names every fault with line, column and path."""
    from gpuaas_server.catalog.yaml_reader import read  # with PyYAML, when the first manifest comes

    try:
        document = read(text)
    except Unreadable as unreadable:
        raise invalid(unreadable.faults) from None
    faults = _faults(document)
    if faults:
        raise invalid(faults)
    return from_document(cast(ManifestDocument, document.value))


def _faults(document: Document) -> list[Fault]:
    """List the faults of form and sense at once. A field's sense is checked only where its form is right."""
    faults = manifest_schema.faults(document)
    value = document.value
    if isinstance(value, dict):
        faults += manifest_schema.asked_faults(document, value)
        if len(faults) >= MOST_FAULTS:
            return sorted(set(faults))  # there may be more, so nothing says which fields are right
        malformed = {re.split(r"[.\[]", fault.path)[0] for fault in faults} | (
            manifest_schema.required() - value.keys()
        )
        faults += [document.fault(path, message) for path, message in manifest_rules.complaints(value, malformed)]
    return sorted(set(faults))


def invalid(faults: list[Fault]) -> Problem:
    first = faults[0]
    where = f"line {first.line}, column {first.column}{f' ({first.path})' if first.path else ''}"
    listed = [
        {"line": fault.line, "column": fault.column, "path": fault.path, "message": fault.message}
        for fault in faults[:MOST_FAULTS]
    ]
    return Problem("manifest_invalid", f"{where}: {first.message}", {"faults": listed, "count": len(faults)})


def from_document(document: ManifestDocument) -> Manifest:
    """Build the manifest of a document that `parse` has accepted, now or when it was registered."""
    components = tuple(_component(item) for item in document["components"])
    return Manifest(
        slug=document["slug"],
        display_name=document["display_name"],
        description=document.get("description", ""),
        version=document["version"],
        runtime_version=document["runtime_version"],
        artifact=Artifact(**document["artifact"]),
        compatibility=_compatibility(document["compatibility"]),
        tenant_scope=document.get("tenant_scope", False),
        max_members=document.get("max_members", manifest_rules.MOST_MEMBERS),
        components=components,
        inputs=document.get("inputs", {"type": "object", "additionalProperties": False}),
        options=document.get("options", {}),
        footprint=_footprint(document["footprint"]),
        probes=tuple(_probe(item) for item in document.get("probes", ())),
        ui=document.get("ui", {}),
        metering=tuple(Dimension(**item) for item in document.get("metering", ())),
        secrets=tuple(declared_secrets(document)),
        runtime_profile=document.get("runtime_profile"),
        document=document,
    )


def _compatibility(item: Json) -> Compatibility:
    """Read it. Versions that an earlier release registered say `shapes` for `requires_capacity_shape`."""
    said = {**item}
    shapes = said.pop("requires_capacity_shape", said.pop("shapes", ()))
    return Compatibility(**said, requires_capacity_shape=tuple(shapes))


def _component(item: ComponentDocument) -> Component:
    return Component(
        key=item["key"],
        display_name=str(item.get("display_name", item["key"])),
        min=item["min"],
        max=item["max"],
        placement=item.get("placement", "shared"),
        depends_on=tuple(item.get("depends_on", ())),
        compatibility=_compatibility(item.get("compatibility", {})),
        allocation_group=item.get("allocation_group"),
    )


def digests_of(document: ManifestDocument) -> tuple[str, ...]:
    """Return the digests of all artifacts that a version refers to: its own first, then other images, then files."""
    images = (profile["image"] for profile in _profiles(document))
    return tuple(dict.fromkeys((document["artifact"]["digest"], *images, *file_digests(document))))


def file_digests(document: ManifestDocument) -> tuple[str, ...]:
    """Return the digests of the files that containers of the version read."""
    files = (file["digest"] for profile in _profiles(document) for file in profile.get("artifacts", ()))
    return tuple(dict.fromkeys(files))


def _profiles(document: ManifestDocument) -> list[Json]:
    listed = (holder.get("runtime_profile") for holder in (document, *document["components"]))
    return [profile for profile in listed if profile is not None]


def unobserved_images(document: ManifestDocument, placed: Collection[str]) -> frozenset[str]:
    """Return the images and files of which a launch of these components shows nothing: no host probes them for readiness."""
    named: set[str] = set()
    observed: set[str] = set()
    for component in document["components"]:
        profile = component.get("runtime_profile") or document.get("runtime_profile")
        if profile is None:
            continue
        digests = {profile["image"], *(file["digest"] for file in profile.get("artifacts", ()))}
        named |= digests
        key = component["key"]
        if key in placed and any("readiness" in probe.purpose for probe in host_probes(document, key)):
            observed |= digests
    return frozenset(named - observed)


def host_probes(document: ManifestDocument, component_key: str) -> list[Probe]:
    """Return the probes of a component that hosts run: those with a purpose."""
    probes = (_probe(item) for item in document.get("probes", ()) if item["component"] == component_key)
    return [probe for probe in probes if probe.purpose]


def declared_secrets(document: ManifestDocument) -> list[DeclaredSecret]:
    """Return the secrets that a manifest declares."""
    return [DeclaredSecret(**item) for item in document.get("secrets", ())]


def _probe(item: Json) -> Probe:
    lists = {name: tuple(item.get(name, ())) for name in ("purpose", "expected_status")}
    return Probe(**{**item, **lists})


def _footprint(item: Json) -> Footprint:
    plain = {name: tuple(values) for name, values in item.items() if name != "ports"}
    return Footprint(**plain, ports=tuple(Port(**port) for port in item.get("ports", ())))
