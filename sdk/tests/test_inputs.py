"""Defaults of the manifest in the inputs that a handler sees."""

from typing import Any

import pytest

from gpuaas_sdk.controller.inputs import with_defaults

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "main"},
        "note": {"type": "string"},
        "queues": {
            "type": "array",
            "default": [{"name": "all"}],
            "items": {"properties": {"name": {}, "hours": {"default": 1}}},
        },
        "limits": {"type": "object", "properties": {"memory": {"default": 8}, "cores": {"type": "integer"}}},
        "mirror": {"type": "object", "required": ["url"], "properties": {"url": {}, "port": {"default": 443}}},
    },
}


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ({}, {"name": "main", "queues": [{"name": "all", "hours": 1}], "limits": {"memory": 8}}),
        (
            {"name": "", "queues": [{"name": "a", "hours": 2}, {"name": "b"}], "limits": {"cores": 4}},
            {
                "name": "",
                "queues": [{"name": "a", "hours": 2}, {"name": "b", "hours": 1}],
                "limits": {"cores": 4, "memory": 8},
            },
        ),
        (
            {"queues": [], "mirror": {"url": "x"}, "note": None},
            {"name": "main", "queues": [], "mirror": {"url": "x", "port": 443}, "note": None, "limits": {"memory": 8}},
        ),
    ],
    ids=["nothing given", "at every depth", "an object that needs more stays absent unless given"],
)
def test_absent_inputs_have_the_defaults_of_the_manifest(given: dict[str, Any], seen: dict[str, Any]) -> None:
    assert with_defaults(SCHEMA, given) == seen


def test_the_manifest_is_not_changed_by_who_changes_the_inputs() -> None:
    first: Any = with_defaults(SCHEMA, {})
    first["queues"].append("mine")
    assert with_defaults(SCHEMA, {}) != first


def test_an_app_without_a_schema_sees_what_was_given() -> None:
    assert with_defaults(None, {"a": 1}) == {"a": 1}
