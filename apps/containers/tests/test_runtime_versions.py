"""Which version people see: what the container says, what its image says, and what was said before."""

from gpuaas_containers.profile import VersionPage, read_profile
from gpuaas_containers.runtime_versions import version_of_containers, version_of_images
from gpuaas_sdk.controller import MemberCounts
from gpuaas_sdk.controller.host_counts import parse_counts

OWN, OTHER = {"image": "sha256:own", "runtime_version": "1.2"}, {"image": "sha256:other", "runtime_version": "9"}
SINCE = "2026-03-01T12:00:00+00:00"


def counts(member_id: str, said: str) -> list[MemberCounts]:
    return parse_counts(
        f'{{"member_id": "{member_id}", "since": "{SINCE}", "values": {{}}, "runtime_version": {said}}}'
    )


def test_an_image_says_its_version_until_its_container_has_said_it() -> None:
    assert version_of_images([OTHER, OWN], "sha256:own", None, "1.0.0") == {"runtime_version": "1.2"}
    assert version_of_images([OTHER], "sha256:own", {}, "1.0.0") == {}
    before = {"version": "1.0.0", "runtime_version": "1.3"}
    assert version_of_images([OWN], "sha256:own", before, "1.0.0") == {"runtime_version": "1.3"}
    assert version_of_images([OWN], "sha256:own", before, "2.0.0") == {"runtime_version": "1.2"}


def test_only_containers_of_the_versions_own_image_say_the_version_of_the_instance() -> None:
    details = {"mem_a": OTHER, "mem_b": OWN}
    found = [*counts("mem_a", '"9"'), *counts("mem_b", '"1.3"')]
    assert version_of_containers(details, "sha256:own", found) == {"runtime_version": "1.3"}
    assert version_of_containers(details, "sha256:own", found[:1]) == {}


def test_what_a_host_says_is_a_version_or_nothing() -> None:
    said = ['"$(id)"', "7", "null", f'"{"1" * 65}"', '"1.2\\n3"', "[1]", '"2.0.0+cpu"']
    assert [one.runtime_version for text in said for one in counts("mem_a", text)] == [*[None] * 6, "2.0.0+cpu"]


def test_a_profile_names_the_page_of_the_version() -> None:
    profile = {"image": "sha256:own", "runtime_version_from": {"port": 80, "path": "/api", "field": "version"}}
    assert read_profile({"runtime_profile": profile}, {}).version_page == VersionPage(80, "/api", "version")
    assert read_profile({"runtime_profile": {"image": "sha256:own"}}, {}).version_page is None
