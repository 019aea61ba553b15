"""Components with images of their own: the order in which they start, and the names by which they find each other."""

from gpuaas_containers.names import MemberNames
from gpuaas_containers.profile import image_of, read_profile
from gpuaas_containers.services import has_services, in_start_order, other_hosts, reported_addresses
from gpuaas_sdk.controller import ControllerMember
from gpuaas_sdk.generated.models import ControllerAllocation

MANIFEST = {
    "components": [
        {"key": "web", "depends_on": ["cache", "store"], "runtime_profile": {"image": "sha256:1"}},
        {"key": "cache", "depends_on": ["store"], "runtime_profile": {"image": "sha256:2"}},
        {"key": "store", "runtime_profile": {"image": "sha256:3"}},
    ]
}


def member(key: str, allocation: str, **detail: object) -> ControllerMember:
    return ControllerMember(
        id=f"mem_{key}", component_key=key, allocation=ControllerAllocation(id=allocation), adapter_detail=detail
    )


WEB, CACHE, STORE = member("web", "alc_a"), member("cache", "alc_a"), member("store", "alc_b", address="10.0.0.2")


def test_members_start_after_those_that_they_depend_on() -> None:
    assert in_start_order(MANIFEST, [WEB, CACHE, STORE]) == [[STORE], [CACHE], [WEB]]
    assert in_start_order(MANIFEST, [WEB]) == [[WEB]], "what is not part of the operation runs already"
    assert in_start_order({"components": [{"key": "web"}]}, [WEB, WEB]) == [[WEB, WEB]]


def test_services_on_other_hosts_are_known_by_the_address_of_their_host() -> None:
    addresses = reported_addresses([WEB, CACHE, STORE]) | {"alc_a": "10.0.0.1"}
    assert other_hosts(WEB, [WEB, CACHE, STORE], addresses) == (("store", "10.0.0.2"),)
    assert other_hosts(STORE, [WEB, CACHE, STORE], addresses) == (("cache", "10.0.0.1"), ("web", "10.0.0.1"))


def test_a_component_runs_its_own_image_and_shares_network_and_volumes() -> None:
    assert has_services(MANIFEST)
    assert read_profile(MANIFEST, {}, "cache").image == "sha256:2"
    assert (image_of(MANIFEST, "store"), image_of(MANIFEST, "nobody")) == ("sha256:3", None)
    web, store = (MemberNames.of("ins_0123456789", key, "mem_abcdef", services=True) for key in ("web", "store"))
    assert (web.network, web.volume("data")) == (store.network, store.volume("data"))
    assert web.name != store.name
    alone = MemberNames.of("ins_0123456789", "web", "mem_abcdef")
    assert (alone.network, alone.volume("data")) == (alone.name, f"{alone.name}.data")
    assert not has_services({"components": [{"key": "web"}], "runtime_profile": {"image": "sha256:1"}})
