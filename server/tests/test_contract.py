"""The contract: current, ruled by policy both ways, free of app words, and its break detector detects breaks."""

import copy
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from gpuaas_server.calls import call_of
from gpuaas_server.catalog import manifest
from gpuaas_server.catalog.schemas import MANIFEST
from gpuaas_server.compatibility import breaking_changes
from gpuaas_server.contract import RELEASED, broken_releases, check_contract, offline_app, openapi_document
from gpuaas_server.identity.policy import RULES
from gpuaas_server.identity.policy_document import assert_policy_covers
from gpuaas_server.kernel.errors import CATALOGUE
from gpuaas_server.kernel.start import StartFailed

REPOSITORY = Path(__file__).parents[2]
ALLOCATION = "/api/v1/projects/{project_id}/allocations/{allocation_id}"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return openapi_document()


def test_the_committed_contract_is_what_the_code_says() -> None:
    assert check_contract(REPOSITORY) == []


def current() -> dict[str, Any]:
    return {name: json.loads((REPOSITORY / "contract" / name).read_text()) for name in RELEASED}


def keep_release(root: Path, version: str, documents: dict[str, Any]) -> None:
    folder = root / "contract" / "released" / version
    folder.mkdir(parents=True)
    for name, document in documents.items():
        (folder / name).write_text(json.dumps(document))


def test_a_broken_release_is_named_with_what_breaks_it(tmp_path: Path) -> None:
    assert broken_releases(REPOSITORY, current()) == []
    keep_release(tmp_path, "0.1.0", current())
    assert broken_releases(tmp_path, current()) == []
    old = current()
    old["openapi.json"]["paths"]["/api/v1/colours"] = {"get": {"operationId": "colour_list", "responses": {}}}
    old["app-manifest.schema.json"]["properties"]["colour"] = {"type": "string"}
    old["app-manifest.schema.json"]["$defs"]["port"]["maximum"] = 70_000
    old["error-codes.json"]["colour_unknown"] = old["error-codes.json"]["conflict"]
    keep_release(tmp_path, "0.2.0", old)
    assert broken_releases(tmp_path, current()) == [
        "breaks users of release 0.2.0: GET /api/v1/colours was removed",
        "breaks users of release 0.2.0: schema port (request): maximum is 65535 now",
        "breaks users of release 0.2.0: manifest.colour: it was removed",
        "breaks users of release 0.2.0: error code colour_unknown was removed",
    ]


def test_a_release_that_lacks_a_part_of_its_contract_is_refused(tmp_path: Path) -> None:
    keep_release(tmp_path, "0.1.0", {name: one for name, one in current().items() if name != "error-codes.json"})
    assert broken_releases(tmp_path, current()) == ["release 0.1.0 does not keep error-codes.json"]


def test_a_release_keeps_the_whole_contract(tmp_path: Path) -> None:
    kept = tmp_path / "contract" / "released"
    subprocess.run([str(REPOSITORY / "tools" / "release-contract"), str(kept)], check=True, timeout=120)
    [release] = kept.iterdir()
    assert {path.name for path in release.glob("*.json")} == set(RELEASED)
    assert {name: json.loads((release / name).read_text()) for name in RELEASED} == current()
    assert broken_releases(tmp_path, current()) == []


def test_what_clients_call_an_operation_follows_from_its_name() -> None:
    paths = {"allocations", "members", "service-accounts", "tenants", "operations"}
    named = {
        "allocation_retry_release": "allocations.retry_release",
        "tenant_member_list": "tenants.members",
        "tenant_member_set": "tenants.set_member",
        "service_account_key_create": "service_accounts.create_key",
        "member_show": "instances.member",
        "operation_give_back": "controller.give_back",
        "operation_cancel": "operations.cancel",
        "tenant_user_create": "users.create",
    }
    assert {action: call_of(action, paths) for action in named} == named


def test_every_endpoint_has_a_rule_and_every_rule_an_endpoint() -> None:
    assert_policy_covers(offline_app())


def test_the_server_does_not_start_with_an_endpoint_without_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(RULES, "instance_repair")
    with pytest.raises(StartFailed, match=r"instance_repair; add a row to RULES in identity/policy\.py"):
        offline_app()


def test_every_error_says_what_to_do_next() -> None:
    for kind in CATALOGUE.values():
        assert kind.next_step.endswith((".", ")")), kind.code
        assert kind.title[0].isupper(), kind.code


def test_the_document_is_openapi_3_1_and_every_operation_says_who_may_call_it(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    for methods in document["paths"].values():
        for operation in methods.values():
            assert "security" in operation, operation["operationId"]


def broken(change: str) -> list[str]:
    """The complaints about one change to the committed contract."""
    old = json.loads((REPOSITORY / "contract/openapi.json").read_text())
    new = copy.deepcopy(old)
    schemas = new["components"]["schemas"]
    match change:
        case "path":
            del new["paths"][ALLOCATION]
        case "call":
            new["paths"][ALLOCATION]["get"]["x-call"] = "allocations.look"
        case "parameter":
            new["paths"][ALLOCATION]["get"]["parameters"].append({"in": "query", "name": "why", "required": True})
        case "field":
            del schemas["Allocation"]["properties"]["state"]
        case "demand":
            schemas["AllocationCreate"]["required"].append("name")
        case "type":
            schemas["Allocation"]["properties"]["gpu_count"]["type"] = "string"
        case "addition":
            schemas["Allocation"]["properties"]["colour"] = {"type": "string"}
            new["paths"]["/api/v1/colours"] = {"get": {"operationId": "colour_list", "responses": {}}}
    return breaking_changes(old, new)


def test_breaks_are_found_and_additions_are_not_breaks() -> None:
    for change in ("path", "call", "parameter", "field", "demand", "type"):
        assert broken(change), change
    assert broken("addition") == []


def test_no_response_names_a_code_twice() -> None:
    document = json.loads((REPOSITORY / "contract/openapi.json").read_text())
    for path in document["paths"].values():
        for operation in path.values():
            for status, response in operation["responses"].items():
                codes = response["description"].split(", ") if status[0] in "45" else []
                assert len(codes) == len(set(codes)), (operation["operationId"], status)


def test_an_upgrade_may_be_refused_like_any_verb_and_like_a_launch() -> None:
    document = json.loads((REPOSITORY / "contract/openapi.json").read_text())
    one = "/api/v1/projects/{project_id}/instances"
    launch, stop, upgrade = (
        {code for answer in document["paths"][path]["post"]["responses"].values() for code in _codes(answer)}
        for path in (one, f"{one}/{{instance_id}}/stop", f"{one}/{{instance_id}}/upgrade")
    )
    assert stop <= upgrade
    assert {"not_launchable", "inputs_invalid", "placement_refused"} <= launch & upgrade


def _codes(answer: dict[str, str]) -> list[str]:
    return answer["description"].split(", ")


# Bodies that people write by hand: a reader learns them from an example.
BY_HAND = (
    "AllocationCreate",
    "AppVersionRegister",
    "ArtifactMove",
    "EntitlementGrant",
    "HealthReport",
    "InstanceCreate",
    "MemberOperationCreate",
    "OperationComplete",
    "OperationFail",
    "OperationReport",
    "PublishIntentComplete",
    "ArtifactAnnouncement",
    "ServiceAccountCreate",
    "SshGrantCreate",
    "TrustPolicySet",
)


def undescribed(document: dict[str, Any]) -> list[str]:
    """Operations that say nothing beyond their name."""
    return [
        operation["operationId"]
        for methods in document["paths"].values()
        for operation in methods.values()
        if len(operation.get("description", "").split()) < 3
    ]


def test_every_operation_says_what_it_does(document: dict[str, Any]) -> None:
    assert undescribed(document) == []
    silent = copy.deepcopy(document)
    del silent["paths"][ALLOCATION]["get"]["description"]
    assert undescribed(silent) == ["allocation_show"]


def unfit_examples(document: dict[str, Any]) -> Iterator[str]:
    """Examples of bodies that the schema which shows them would refuse."""
    schemas = document["components"]["schemas"]
    for name, schema in schemas.items():
        referring = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas}}
        validator = jsonschema_rs.Draft202012Validator(referring, validate_formats=True)
        yield from (name for example in schema.get("examples", ()) if not validator.is_valid(example))


def test_every_example_is_accepted_by_its_schema(document: dict[str, Any]) -> None:
    assert list(unfit_examples(document)) == []
    unfit = copy.deepcopy(document)
    unfit["components"]["schemas"]["InstanceCreate"]["examples"][0]["placement_intent"][0]["colour"] = "red"
    assert list(unfit_examples(unfit)) == ["InstanceCreate"]


@pytest.mark.parametrize("name", BY_HAND)
def test_what_people_write_by_hand_has_an_example(name: str, document: dict[str, Any]) -> None:
    assert document["components"]["schemas"][name].get("examples")


def test_the_manifest_of_the_example_is_a_good_one() -> None:
    assert manifest.parse(MANIFEST).slug == "echo"
