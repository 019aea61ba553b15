"""Accounts that people name when they launch are looked for at the end, as those that a manifest names."""

from typing import Any

import pytest

from gpuaas_server.catalog import footprints
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.receipts import footprint as receipts
from tests_support import manifests

PEOPLE = {
    "type": "array",
    "default": [{"name": "guest"}],
    "items": {"type": "object", "properties": {"name": {"type": "string"}, "number": {"type": "integer"}}},
}


def app(*places: str, people: dict[str, Any] = PEOPLE, users: tuple[str, ...] = ("echo",)) -> dict[str, Any]:
    document = manifests.document()
    document["inputs"] = {"type": "object", "properties": {"people": people, "owner": {"type": "string"}}}
    document["footprint"] = {"users": list(users), "paths": ["/opt/echo"], "users_from": list(places)}
    return document


def test_the_accounts_that_people_named_are_among_those_that_are_looked_for() -> None:
    given = {"people": [{"name": "ann"}, {"name": "bob"}, {"name": "echo"}], "owner": "cy"}
    found = footprints.footprint_of(app("/people/*/name", "/owner"), given)
    assert found == {"users": ["echo", "ann", "bob", "cy"], "paths": ["/opt/echo"]}


def test_without_an_answer_the_default_is_checked() -> None:
    assert footprints.footprint_of(app("/people/*/name", "/owner"), {})["users"] == ["echo", "guest"]


def test_a_manifest_without_such_places_is_looked_for_as_it_is() -> None:
    assert footprints.footprint_of(app(), {"owner": "cy"}) == {"users": ["echo"], "paths": ["/opt/echo"]}


def test_the_container_of_a_runtime_profile_is_looked_for_by_the_instances_id() -> None:
    document = app() | {"runtime_profile": {"image": "sha256:5f"}}
    found = footprints.footprint_of(document, {}, "ins_01m7f81xage15rhw01dexynkp5")
    units = ["gpuaas-01dexynkp5-*.service", "gpuaas-01dexynkp5-*.timer"]
    assert (found["units"], found["containers"]) == (units, ["gpuaas-01dexynkp5-*"])
    assert "/var/lib/gpuaas-usage/ins_01m7f81xage15rhw01dexynkp5" in found["paths"]
    assert "/opt/echo" in found["paths"]
    assert "/var/lib/containers/storage/volumes/gpuaas-01dexynkp5-*" in found["paths"]
    assert receipts.normalize(found)["paths"] == found["paths"], "no host would be asked for it"
    assert footprints.footprint_of(app(), {}, "ins_01m7f81xage15rhw01dexynkp5") == footprints.footprint_of(app(), {})


@pytest.mark.parametrize("name", ["root", "Ann", "a b", "x" * 33, "../etc", 7, ["ann"], ""])
def test_a_name_that_no_host_could_be_asked_for_is_refused_at_the_launch_and_not_repeated(name: object) -> None:
    with pytest.raises(Problem) as refused:
        footprints.check_footprints(app("/people/*/name"), {"people": [{"name": "ann"}, {"name": name}]})
    assert (refused.value.code, refused.value.detail) == (
        "inputs_invalid",
        "people[1].name: This cannot be an account's name.",
    )


def test_more_names_than_a_host_is_asked_for_are_refused_at_the_launch() -> None:
    many = [{"name": f"u{number}"} for number in range(footprints.MOST_NAMED + 1)]
    footprints.check_footprints(app("/people/*/name"), {"people": many[1:]})
    with pytest.raises(Problem, match="are the most"):
        footprints.check_footprints(app("/people/*/name"), {"people": many})


@pytest.mark.parametrize("place", ["/nobody", "/people/name", "/people/*/number", "/people", "/people/*/name/first"])
def test_a_place_that_leads_nowhere_is_a_fault_of_the_manifest(place: str) -> None:
    with pytest.raises(Problem) as refused:
        manifests.parse(manifests.text_of(app(place)))
    assert (refused.value.code, refused.value.details["faults"][0]["path"]) == (  # type: ignore[index]
        "manifest_invalid",
        "footprint.users_from[0]",
    )
