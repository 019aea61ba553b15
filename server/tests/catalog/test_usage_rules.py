"""What a manifest says of its usage: counters that hosts read, and every fault of them at once."""

from typing import Any

import pytest

from gpuaas_server.catalog.manifest import parse
from gpuaas_server.catalog.usage_rules import MOST_COUNTERS, metered_units
from gpuaas_server.kernel.errors import Problem
from tests_support.manifests import DIGEST, document, text_of

TOKENS = {"component": "node", "port": 9100, "metric": "app:tokens_total", "labels": {"kind": "out"}}


def launchable(**changes: object) -> dict[str, Any]:
    artifact = {"kind": "launchable", "digest": DIGEST}
    return {**document(), "artifact": artifact, "runtime_profile": {"image": DIGEST}, **changes}


def complaints(value: object) -> dict[str, str]:
    with pytest.raises(Problem) as refused:
        parse(text_of(value))
    faults: Any = refused.value.details["faults"]
    return {fault["path"]: fault["message"] for fault in faults}


def test_a_version_that_runs_images_is_counted_by_the_time_that_they_run() -> None:
    dimension = {"key": "tokens", "unit": "count", "counter": TOKENS}
    manifest = parse(text_of(launchable(metering=[dimension])))
    assert list(metered_units(manifest.document)) == [("container_seconds", "second"), ("tokens", "count")]
    assert manifest.metering[0].counter == TOKENS
    own = {**document(), "metering": [{"key": "echoes", "unit": "count"}]}
    assert list(metered_units(own)) == [("echoes", "count")]


def test_all_faults_of_counters_are_named_at_once() -> None:
    wrong = [
        {"key": "a", "unit": "count", "counter": {**TOKENS, "component": "nobody"}},
        {"key": "container_seconds", "unit": "second"},
        *({"key": f"k{number}", "unit": "count", "counter": TOKENS} for number in range(MOST_COUNTERS + 1)),
    ]
    found = complaints(launchable(metering=wrong))
    assert set(found) == {"metering[0].counter.component", "metering[1].key", f"metering[{MOST_COUNTERS + 2}]"}
    malformed = [
        {"key": "a", "unit": "count", "counter": {"component": "node", "metric": "two words", "port": 0}},
        {"key": "b", "unit": "count", "counter": {**TOKENS, "path": "http://elsewhere/", "labels": {"0x": "a"}}},
        {"key": "c", "unit": "count", "counter": {**TOKENS, "labels": {"kind": "a\nb"}}},
    ]
    assert {path.partition("]")[0] for path in complaints(launchable(metering=malformed))} == {
        "metering[0",
        "metering[1",
        "metering[2",
    }


def test_a_counter_of_a_component_without_an_image_is_refused() -> None:
    own = {**document(), "metering": [{"key": "tokens", "unit": "count", "counter": TOKENS}]}
    assert list(complaints(own)) == ["metering[0].counter.component"]


def test_nobody_waits_for_a_component_of_which_nothing_says_that_it_is_ready() -> None:
    whole = document()
    components = [
        {**one, "starts_after_ready": ["head", "node"]} if one["key"] == "node" else one for one in whole["components"]
    ]
    probes = [{"key": "up", "component": "head", "kind": "tcp", "port": 7007, "purpose": ["liveness"]}]
    found = complaints({**whole, "components": components, "probes": probes})
    where = f"components[{[one['key'] for one in components].index('node')}].starts_after_ready"
    assert set(found) == {f"{where}[0]", f"{where}[1]"}
    probes[0]["purpose"] = ["readiness"]
    components = [
        {**one, "starts_after_ready": ["head"]} if one["key"] == "node" else one for one in whole["components"]
    ]
    assert parse(text_of({**whole, "components": components, "probes": probes})).slug == whole["slug"]
