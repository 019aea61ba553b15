"""The components of a version that have runtime profiles of their own: in which order they start, and how they find each
other. Pure.

Their containers on one host share the instance's network and know each other there by the components' keys. Those on other
hosts are in their hosts file, with the address of the host that offers their ports.
"""

from collections.abc import Mapping, Sequence

from gpuaas_sdk.controller import ControllerMember

Json = Mapping[str, object]


def components_of(manifest: Json) -> dict[str, Json]:
    """Return the components by key."""
    listed = manifest.get("components")
    found = (one for one in listed if isinstance(one, Mapping)) if isinstance(listed, Sequence) else ()
    return {str(one["key"]): one for one in found}


def has_services(manifest: Json) -> bool:
    """Tell whether the components run images of their own, and so belong together."""
    return any("runtime_profile" in component for component in components_of(manifest).values())


def in_start_order(manifest: Json, members: Sequence[ControllerMember]) -> list[list[ControllerMember]]:
    """Return the members in groups: those of a group depend only on members of groups before it."""
    components = components_of(manifest)
    left = {member.component_key for member in members}
    groups: list[list[ControllerMember]] = []
    while left:
        ready = {key for key in left if not left & set(_needs(components.get(key, {}))) - {key}}
        ready = ready or left  # the platform takes no manifest with a circle
        groups.append([member for member in members if member.component_key in ready])
        left -= ready
    return groups


def _needs(component: Json) -> list[str]:
    needed = component.get("depends_on")
    return [str(key) for key in needed] if isinstance(needed, Sequence) else []


def other_hosts(
    member: ControllerMember, members: Sequence[ControllerMember], addresses: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Return names and addresses of the components that are on other allocations. `addresses` are by allocation."""
    own = None if member.allocation is None else member.allocation.id
    found = {
        other.component_key: addresses[other.allocation.id]
        for other in members
        if other.allocation is not None and other.allocation.id != own and other.allocation.id in addresses
    }
    return tuple(sorted((key, address) for key, address in found.items() if key != member.component_key))


def reported_addresses(members: Sequence[ControllerMember]) -> dict[str, str]:
    """Return the addresses that members had when they were last brought up, by allocation."""
    found: dict[str, str] = {}
    for member in members:
        detail = member.adapter_detail or {}
        if member.allocation is not None and isinstance(detail.get("address"), str):
            found[member.allocation.id] = str(detail["address"])
    return found
