"""The table of operation kinds, and what must follow from it elsewhere."""

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from gpuaas_server.catalog.manifest_schema import schema_text
from gpuaas_server.identity.policy import RULES
from gpuaas_server.instances import machine
from gpuaas_server.kernel import operation_kinds as kinds
from gpuaas_server.kernel.operation_kinds import INSTANCE_KINDS, KINDS, MEMBER_KINDS

REPOSITORY = Path(__file__).parents[3]


def test_every_instance_kind_has_a_policy_row_and_teardowns_stay_allowed_in_a_disabled_project() -> None:
    ending = {name for name in INSTANCE_KINDS if RULES[f"instance_{name}"].while_disabled}
    assert ending == {name for name in INSTANCE_KINDS if KINDS[name].teardown}
    verbs = {action for action in RULES if action.removeprefix("instance_") in KINDS}
    assert verbs == {f"instance_{name}" for name in INSTANCE_KINDS}


def test_wire_types_and_the_manifest_name_the_kinds_of_the_table() -> None:
    assert get_args(kinds.OperationKind) == tuple(KINDS) == INSTANCE_KINDS + MEMBER_KINDS
    assert get_args(kinds.MemberKind) == MEMBER_KINDS
    manifest = json.loads(schema_text())
    assert manifest["properties"]["options"]["propertyNames"]["enum"] == [k.name for k in KINDS.values() if k.options]


@pytest.mark.parametrize("kind", INSTANCE_KINDS)
def test_every_state_that_an_instance_kind_leads_to_is_a_state(kind: str) -> None:
    row = KINDS[kind]
    named = {*row.instance_from, row.instance_done} | ({row.instance_requested} if row.instance_requested else set())
    assert named <= set(machine.TRANSITIONS)
    for before in row.instance_from:
        asked = row.instance_requested or before
        assert asked == before or asked in machine.TRANSITIONS[before]


@pytest.mark.parametrize("kind", MEMBER_KINDS)
def test_a_member_kind_says_what_a_request_for_it_takes(kind: str) -> None:
    assert KINDS[kind].fields
    assert bool(KINDS[kind].member_from) == (kind != "add")


def test_the_contract_publishes_what_clients_need_to_know_of_each_kind() -> None:
    contract = json.loads((REPOSITORY / "contract" / "openapi.json").read_text())
    assert contract["x-operation-kinds"] == json.loads(json.dumps(kinds.published_kinds()))
    assert [kind["name"] for kind in contract["x-operation-kinds"]] == list(KINDS)
    for name in INSTANCE_KINDS:
        path = f"/api/v1/projects/{{project_id}}/instances/{{instance_id}}/{name}"
        assert contract["paths"][path]["post"]["description"] == KINDS[name].description


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_that_takes_something_down_is_confirmed_first(kind: str) -> None:
    row = KINDS[kind]
    assert (row.confirmation is not None) == (row.teardown is not None)
    assert row.description.endswith(".")


def test_kinds_are_named_in_no_condition_of_server_sdk_and_command() -> None:
    """What distinguishes a kind is a column of the table; a condition on its name would be a second list."""
    assert find_conditions("server/gpuaas_server", "sdk/gpuaas_sdk", "sdk/generator", "cli/gpuaas_cli") == [
        # The bodies of these requests differ, and so do the functions that read them.
        'server/gpuaas_server/instances/members.py: if body.kind == "add":',
        'server/gpuaas_server/instances/members.py: elif body.kind == "replace":',
    ]


def find_conditions(*folders: str) -> list[str]:
    """Find lines that compare a kind with the name of one."""
    named = re.compile(
        r"(kind|_name|verb)(\.name)?\)? (==|!=|in|not in) [({\[]?(\"(" + "|".join(KINDS) + r")\",? ?)+[)}\]]?"
    )
    return [
        f"{path.relative_to(REPOSITORY)}: {line.strip()}"
        for folder in folders
        for path in sorted((REPOSITORY / folder).rglob("*.py"))
        for line in path.read_text().splitlines()
        if named.search(line)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_teardown_says_how_much_is_proven_and_members_that_go_are_removed(kind: str) -> None:
    row = KINDS[kind]
    assert row.teardown in (None, "stopped", "gone")
    assert row.removes_members <= (row.member_done == "removed")
    assert row.may_remove_required_members <= (row.target == "member")
    assert row.ends_instance <= (row.teardown == "gone")
