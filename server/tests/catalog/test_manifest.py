"""What a manifest may say, and that every fault is named at its line."""

import re
from pathlib import Path
from typing import Any

import pytest

from gpuaas_server.catalog.manifest import Component, Port, digests_of, from_document, host_probes, parse
from gpuaas_server.catalog.manifest_schema import schema_text
from gpuaas_server.catalog.yaml_reader import read
from gpuaas_server.kernel.errors import Problem
from tests_support.manifests import DIGEST, EXAMPLE, document, manifest_of, text_of


def faults(text: str) -> list[dict[str, Any]]:
    with pytest.raises(Problem) as refused:
        parse(text)
    assert refused.value.code == "manifest_invalid"
    found = refused.value.details["faults"]
    assert isinstance(found, list)
    return found


def complaints(value: object) -> list[tuple[str, str]]:
    return [(fault["path"], fault["message"]) for fault in faults(text_of(value))]


def line_of(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)


def test_a_whole_manifest_is_understood() -> None:
    manifest = parse(EXAMPLE)
    assert (manifest.slug, manifest.version, manifest.runtime_version) == ("echo", "1.2.0", "24.10")
    assert (manifest.artifact.kind, manifest.artifact.digest) == ("controller", DIGEST)
    node = manifest.component("node")
    assert isinstance(node, Component)
    assert (node.min, node.max, node.depends_on, node.placement) == (1, 8, ("head",), "shared")
    assert manifest.footprint.ports == (Port(7007), Port(7007, "udp"))
    assert manifest.inputs["properties"]["greeting"]["x-ui"] == {"label": "Greeting"}
    assert manifest.probes[0].interval_seconds == 15
    assert manifest.max_members == 9


def test_the_same_content_has_the_same_digest_however_it_is_written() -> None:
    as_json = text_of(dict(reversed(document().items())))
    assert parse(as_json).content_digest == parse(EXAMPLE + "\n# said twice\n").content_digest
    other = parse(EXAMPLE.replace("Answers what it hears.", "Answers."))
    assert other.content_digest != parse(EXAMPLE).content_digest


def test_all_faults_are_named_at_once_each_with_its_line() -> None:
    text = (
        EXAMPLE.replace("slug: echo", "slug: Echo!")
        .replace("min_gpu_count: 1", "min_gpus: 1")
        .replace("kind: controller", "kind: zip")
        .replace("users: [echo]", 'users: ["echo; rm -rf /"]')
    )
    found = {fault["path"]: fault for fault in faults(text)}
    assert found.keys() == {"slug", "compatibility.min_gpus", "artifact.kind", "footprint.users[0]"}
    assert found["slug"]["line"] == line_of(text, "slug: Echo!")
    assert (found["slug"]["column"], found["compatibility.min_gpus"]["column"]) == (7, 3)
    assert found["compatibility.min_gpus"]["line"] == line_of(text, "min_gpus")
    assert found["footprint.users[0]"]["line"] == line_of(text, "rm -rf")


def test_faults_of_sense_are_named_beside_faults_of_form() -> None:
    text = (
        EXAMPLE.replace("slug: echo", "slug: Echo!")
        .replace("depends_on: [head]", "depends_on: [neck]")
        .replace("component: node", "component: nobody")
        .replace("users: [echo]", 'users: ["echo; rm -rf /"]')
    )
    assert {fault["path"] for fault in faults(text)} == {
        "slug",
        "components[1].depends_on[0]",
        "probes[0].component",
        "footprint.users[0]",
    }
    value = document() | {"components": "two", "metering": [{"key": "a", "unit": "s"}, {"key": "a", "unit": "s"}]}
    del value["footprint"]
    assert {path for path, _ in complaints(value)} == {"", "components", "metering[1].key"}


def test_what_is_missing_is_named_at_what_should_have_it() -> None:
    value = document()
    del value["footprint"], value["artifact"]["digest"]
    assert complaints(value) == [
        ("", '"footprint" is a required property'),
        ("artifact", '"digest" is a required property'),
    ]


def test_a_text_that_is_not_yaml_says_where_it_breaks() -> None:
    (fault,) = faults("manifest: 1\nslug: [echo\nversion: 1.0.0\n")
    assert fault["line"] in (2, 3)
    assert fault["message"].startswith("Not YAML")


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "just words", "[1, 2]", "null"])
def test_a_text_without_a_manifest_is_refused(text: str) -> None:
    assert faults(text)


def test_plain_words_stay_words() -> None:
    """YAML's older readings (yes is true, 12:30 is 750, a date is a date) would change what an author wrote."""
    text = EXAMPLE.replace("display_name: Echo", "display_name: yes").replace('"24.10"', "2024-10-01")
    manifest = parse(text)
    assert (manifest.display_name, manifest.runtime_version) == ("yes", "2024-10-01")
    (fault,) = faults(EXAMPLE.replace('"24.10"', "24.10"))
    assert fault["path"] == "runtime_version"


@pytest.mark.parametrize(
    "version",
    ["1", "1.2", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3\n", "1.2.3+", "1.2.1234567890", "latest", "1.2.x"],
)
def test_a_version_that_is_not_semantic_is_refused(version: str) -> None:
    assert [path for path, _ in complaints({**document(), "version": version})] == ["version"]


@pytest.mark.parametrize("version", ["0.0.0", "1.2.3-rc.1", "1.2.3-alpha-7.0", "1.2.3+build.7", "10.20.30-x+y"])
def test_semantic_versions_are_taken(version: str) -> None:
    assert parse(text_of({**document(), "version": version})).version == version


def components(*items: dict[str, Any]) -> dict[str, Any]:
    plain = {"probes": [], "ui": {}, "max_members": 100}
    return {**document(), **plain, "components": [{"min": 1, "max": 2, **item} for item in items]}


def test_a_circle_of_dependencies_is_shown() -> None:
    circle = components(
        {"key": "a", "depends_on": ["b"]}, {"key": "b", "depends_on": ["c"]}, {"key": "c", "depends_on": ["a"]}
    )
    assert ("components[0].depends_on", "The component depends on itself: a → b → c → a.") in complaints(circle)
    assert len(complaints(circle)) == 3
    alone = components({"key": "a", "depends_on": ["a"]})
    assert complaints(alone) == [("components[0].depends_on", "The component depends on itself: a → a.")]


def test_a_dependency_on_an_unknown_component_is_refused() -> None:
    assert complaints(components({"key": "a", "depends_on": ["b"]})) == [
        ("components[0].depends_on[0]", "There is no component b.")
    ]


def test_counts_that_cannot_be_are_refused() -> None:
    assert complaints(components({"key": "a", "min": 3, "max": 2}))[0][0] == "components[0].min"
    assert complaints(components({"key": "a"}, {"key": "a"})) == [("components[1].key", "The key a is used twice.")]
    assert complaints(components({"key": "a", "min": 0}))[0][0] == "components"
    many = components({"key": "a", "min": 60, "max": 90}, {"key": "b", "min": 60, "max": 90})
    assert complaints(many) == [("max_members", "The components need 120 members at least, and 100 is the most.")]
    del many["max_members"]
    many["components"] = [{"key": f"c{n}", "min": 4000, "max": 4000} for n in range(2)]
    assert complaints(many)[0][0] == "components"


def test_a_version_that_was_registered_with_the_word_shapes_keeps_what_it_requires() -> None:
    known = {**document(), "compatibility": {"shapes": ["gpu_slice"], "min_gpu_count": 1}}
    assert from_document(known).compatibility.requires_capacity_shape == ("gpu_slice",)  # type: ignore[arg-type]
    assert "shapes" in complaints(known)[0][1], "a new one says requires_capacity_shape"


def test_a_compatibility_that_nothing_has_is_refused() -> None:
    none = {"min_gpu_count": 4, "max_gpu_count": 2}
    assert [path for path, _ in complaints({**document(), "compatibility": none})] == ["compatibility"]
    shared = {"requires_capacity_shape": ["gpu_slice"], "requires_exclusive_node": True}
    assert [path for path, _ in complaints({**document(), "compatibility": shared})] == ["compatibility"]
    apart = components({"key": "a", "compatibility": {"requires_capacity_shape": ["baremetal"]}})
    apart["compatibility"] = {"requires_capacity_shape": ["gpu_slice"]}
    assert complaints(apart) == [("components[0].compatibility", "No shape of allocation is left.")]


@pytest.mark.parametrize(
    ("inputs", "path"),
    [
        ({"type": "objekt"}, "inputs.type"),
        ({"type": "string"}, "inputs.type"),
        ({}, "inputs.type"),
        ({"type": "object", "properties": {"a": {"type": 3}}}, "inputs.properties.a.type"),
        ({"type": "object", "properties": {"a": {"minimum": "x"}}}, "inputs.properties.a.minimum"),
        ({"type": "object", "properties": {"a": {"pattern": "(("}}}, "inputs.properties.a.pattern"),
        ({"type": "object", "properties": {"a": {"pattern": "(?=x)y"}}}, "inputs.properties.a.pattern"),
        ({"type": "object", "properties": {"a": {"pattern": "(a{999}){999}"}}}, "inputs.properties.a.pattern"),
        ({"type": "object", "properties": {"a": {"$ref": "#"}}}, "inputs.properties.a.$ref"),
        ({"type": "object", "properties": {"a": {"$ref": "file:///etc/passwd"}}}, "inputs.properties.a.$ref"),
        ({"type": "object", "$schema": "http://json-schema.org/draft-07/schema#"}, "inputs.$schema"),
        ([], "inputs"),
    ],
)
def test_inputs_that_are_no_schema_of_an_object_are_refused(inputs: object, path: str) -> None:
    assert [where for where, _ in complaints({**document(), "inputs": inputs})] == [path]


def test_probes_that_hosts_run_say_what_they_are_for() -> None:
    unit = {"key": "p", "component": "node", "kind": "unit", "unit": "echo.service", "purpose": ["liveness"]}
    page = {"key": "q", "component": "node", "kind": "http", "port": 80, "expected_status": [200, 401]}
    manifest = manifest_of(probes=[unit, {**page, "purpose": ["readiness", "liveness"]}, {**page, "key": "own"}])
    assert [probe.key for probe in host_probes(manifest.document, "node")] == ["p", "q"]
    assert host_probes(manifest.document, "head") == []
    assert manifest.probes[1].expected_status == (200, 401)
    elsewhere = {**document(), "probes": [{**unit, "unit": "other.service"}]}
    assert complaints(elsewhere) == [("probes[0].unit", "The footprint has no unit other.service.")]
    many = [{**unit, "key": f"p{number}"} for number in range(9)]
    assert complaints({**document(), "probes": many}) == [
        ("probes[8]", "Hosts run at most 8 probes of a component; node has more.")
    ]
    controllers = {"key": "p", "component": "node", "kind": "controller", "purpose": ["readiness"]}
    aimless = {name: value for name, value in unit.items() if name != "purpose"}
    for wrong in (controllers, aimless, {**unit, "purpose": ["startup"]}, {**unit, "timeout_seconds": 11}):
        assert complaints({**document(), "probes": [wrong]})


def test_probes_and_endpoints_name_components_that_exist() -> None:
    value = {**document(), "probes": [{"key": "p", "component": "nobody", "kind": "controller"}]}
    assert complaints(value) == [("probes[0].component", "There is no component nobody.")]
    value = {**document(), "probes": [{"key": "p", "component": "node", "kind": "http"}]}
    assert complaints(value) == [("probes[0]", '"port" is a required property')]


def test_the_manifest_in_the_how_to_is_a_good_one() -> None:
    assert parse(_shown("publish-an-app")).slug == "echo"


def test_the_profile_in_the_how_to_is_a_good_one() -> None:
    whole, instead = read(_shown("publish-an-app")).value, read(_shown("run-an-image")).value
    assert isinstance(whole, dict)
    assert isinstance(instead, dict)
    assert parse(text_of({**whole, **instead})).runtime_profile
    several = read(_shown("run-an-image", -1)).value
    assert isinstance(several, dict)
    ports = {"footprint": {"ports": [{"port": 8080}, {"port": 8001}]}, "probes": []}
    assert len(digests_of(parse(text_of({**whole, **several, **ports})).document)) == 2


def _shown(page: str, which: int = 0) -> str:
    text = (Path(__file__).parents[3] / f"docs/howto/{page}.md").read_text()
    return str(re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)[which])


def test_the_committed_schema_is_the_one_that_is_used() -> None:
    committed = Path(__file__).parents[3] / "contract/app-manifest.schema.json"
    assert committed.read_text() == schema_text()
