"""Tells how people reach the members: the endpoints of the manifest, with the addresses of the hosts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReachableMember:
    component_key: str
    ordinal: int
    address: str


def access_bundle(manifest: Mapping[str, object], members: Sequence[ReachableMember]) -> dict[str, object]:
    """Return the URLs by the endpoint's key. Those of a component's further members have their ordinals in the key."""
    bundle: dict[str, object] = {}
    for member in sorted(members, key=lambda one: one.ordinal):
        for endpoint in _endpoints(manifest, member.component_key):
            key, path = str(endpoint["key"]), endpoint.get("path", "")
            url = f"{endpoint.get('protocol', 'http')}://{member.address}:{endpoint['port']}{path}"
            bundle[f"{key}_{member.ordinal}" if key in bundle else key] = url
    return bundle


def _endpoints(manifest: Mapping[str, object], component: str) -> Iterator[Mapping[str, object]]:
    ui = manifest.get("ui")
    listed = ui.get("endpoints") if isinstance(ui, Mapping) else None
    for one in listed if isinstance(listed, Sequence) else ():
        if isinstance(one, Mapping) and one.get("component") == component:
            yield one
