"""A manifest as data: what `manifest.parse` has accepted, as versions and instances keep it and the wire carries it.

The committed JSON Schema is the truth about its form; these types say what the code reads, so that mypy knows its keys.
"""

from typing import Any, NotRequired, TypedDict

Part = dict[str, Any]  # that has types of its own in manifest.py, or that passes as it is


class ArtifactDocument(TypedDict):
    kind: str
    digest: str


class ComponentDocument(TypedDict):
    key: str
    min: int
    max: int
    display_name: NotRequired[str]
    placement: NotRequired[str]
    depends_on: NotRequired[list[str]]
    compatibility: NotRequired[Part]
    starts_after_ready: NotRequired[list[str]]
    opens_dependents: NotRequired[bool]
    allocation_group: NotRequired[str]
    runtime_profile: NotRequired[Part]


class ManifestDocument(TypedDict):
    manifest: int
    slug: str
    display_name: str
    version: str
    runtime_version: str
    artifact: ArtifactDocument
    compatibility: Part
    components: list[ComponentDocument]
    footprint: Part
    description: NotRequired[str]
    shared_secrets: NotRequired[bool]
    secrets: NotRequired[list[Part]]
    tenant_scope: NotRequired[bool]
    max_members: NotRequired[int]
    inputs: NotRequired[Part]
    options: NotRequired[Part]
    runtime_profile: NotRequired[Part]
    probes: NotRequired[list[Part]]
    ui: NotRequired[Part]
    metering: NotRequired[list[Part]]
