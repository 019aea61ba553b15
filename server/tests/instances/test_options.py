"""What may be said with a request for an operation is the app's to say, in its manifest."""

import pytest

from gpuaas_server.catalog.manifest import parse
from gpuaas_server.kernel.errors import Problem
from tests_support import manifests
from tests_support.apps import AppSite

OPTIONS = {
    "drain": {
        "type": "object",
        "additionalProperties": False,
        "properties": {"patience": {"enum": ["wait", "cut"]}},
    },
    "stop": {"type": "object", "properties": {"note": {"type": "string"}}},
}


async def test_options_reach_the_controller_with_the_operation(world: AppSite) -> None:
    await world.publish(version="1.3.0", options=OPTIONS)
    instance_id = await world.running()
    operation_id = await world.asked(instance_id, "stop", options={"note": "for the night"})
    claimed = await world.controller.does(operation_id, "claim")
    assert claimed["operation"]["parameters"] == {"options": {"note": "for the night"}}


async def test_each_of_many_members_is_asked_with_the_options_of_the_request(world: AppSite) -> None:
    await world.publish(version="1.3.0", options=OPTIONS)
    instance_id = await world.running(nodes=3)
    nodes = [one["id"] for one in await world.members(instance_id) if one["component_key"] == "node"][:2]
    asked = await world.change_members(instance_id, "drain", targets=nodes, options={"patience": "cut"})
    assert asked.status_code == 201, asked.text
    for item in await world.controller.work():
        claimed = await world.controller.does(item["id"], "claim")
        assert claimed["operation"]["parameters"] == {"options": {"patience": "cut"}}


async def test_what_the_manifest_does_not_offer_is_refused_and_nothing_is_asked(world: AppSite) -> None:
    await world.publish(version="1.3.0", options=OPTIONS)
    instance_id = await world.running()
    node = next(one["id"] for one in await world.members(instance_id) if one["component_key"] == "node")
    for kind, options in (("drain", {"patience": "forever"}), ("drain", {"else": 1}), ("remove", {"patience": "cut"})):
        answer = await world.change_members(instance_id, kind, targets=[node], options=options)
        assert (answer.status_code, answer.json()["code"]) == (422, "options_invalid"), answer.text
    answer = await world.ask(instance_id, "restart", options={"note": "no such option here"})
    assert answer.json()["code"] == "options_invalid"
    answer = await world.ask(instance_id, "stop", options={"note": "x" * 5000})
    assert answer.json()["code"] == "options_invalid"
    assert await world.controller.work() == []


@pytest.mark.parametrize("text", ["options: {drain: {type: array}}", "options: {dream: {type: object}}"])
def test_options_that_are_no_schema_of_a_known_kind_are_refused_with_the_manifest(text: str) -> None:
    with pytest.raises(Problem) as refused:
        parse(f"{manifests.EXAMPLE}{text}\n")
    assert refused.value.code == "manifest_invalid"
