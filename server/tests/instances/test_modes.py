"""An app names the form that an instance has, and what it does not take in it: refused when it is asked, and not offered."""

import pytest

from tests_support.apps import AppSite

ALONE = {
    "name": "alone",
    "meaning": "Everything is on one machine.",
    "closed": [
        {
            "kind": "replace",
            "component_key": "node",
            "message": "It is the only one.",
            "next_step": "Add another one first.",
        },
        {"kind": "restart", "message": "Nothing restarts here.", "next_step": "Stop and start it."},
        {"kind": "add", "message": "It stays alone.", "next_step": "Launch another one."},
    ],
}
OPEN = {"name": "many", "meaning": "As many as you like."}


async def deployed(world: AppSite, mode: dict[str, object] | None, nodes: int = 2) -> str:
    instance_id, operation_id = await world.created(nodes=nodes)
    await world.controller.carry_out(operation_id, **({"mode": mode} if mode else {}))
    return instance_id


async def test_what_is_closed_is_refused_with_the_apps_own_words_and_is_not_offered(world: AppSite) -> None:
    instance_id = await deployed(world, ALONE)
    seen = await world.instance(instance_id)
    assert (seen["mode"]["name"], len(seen["mode"]["closed"])) == ("alone", 3)
    assert not {"instance_restart", "member_operation_create"} & set(seen["allowed_actions"])
    assert {"instance_stop", "instance_repair", "instance_decommission"} <= set(seen["allowed_actions"])
    [listed] = (await world.admin.get(f"{world.path}/instances"))["items"]
    assert listed["allowed_actions"] == seen["allowed_actions"]
    head, node, *_ = await world.members(instance_id)
    assert ("replace" in head["allowed_actions"], "replace" in node["allowed_actions"]) == (True, False)
    swap = [{"member_id": node["id"], "allocation_id": world.allocations[3]}]
    for refused, sentence in (
        (await world.ask(instance_id, "restart"), "Nothing restarts here. Stop and start it."),
        (await world.change_members(instance_id, "replace", replacements=swap), "It is the only one. Add another"),
        (
            await world.change_members(instance_id, "add", component_key="node", allocation_ids=[world.allocations[3]]),
            "It stays alone. Launch another one.",
        ),
    ):
        assert (refused.status_code, refused.json()["code"]) == (409, "closed_in_mode"), refused.text
        assert sentence in refused.json()["detail"]
        assert refused.json()["details"]["mode"] == "alone"


async def test_the_next_operation_names_another_form_and_silence_keeps_the_last(world: AppSite) -> None:
    instance_id = await deployed(world, ALONE)
    await world.controller.carry_out(await world.asked(instance_id, "reconcile"))
    assert (await world.instance(instance_id))["mode"]["name"] == "alone"
    await world.controller.carry_out(await world.asked(instance_id, "reconcile"), mode=OPEN)
    seen = await world.instance(instance_id)
    assert (seen["mode"], "instance_restart" in seen["allowed_actions"]) == ({**OPEN, "closed": []}, True)


async def test_a_look_at_health_may_name_the_form_too(world: AppSite) -> None:
    instance_id = await deployed(world, ALONE)
    report = {"status": "healthy", "generation": (await world.instance(instance_id))["generation"], "mode": OPEN}
    answer = await world.controller.person.call("PUT", f"{world.path}/instances/{instance_id}/health", report)
    assert answer.status_code == 200, answer.text
    seen = await world.instance(instance_id)
    assert seen["mode"]["name"] == "many"
    assert seen["generation"] > report["generation"], "other actions are offered now: who looked before is behind"
    again = {**report, "generation": seen["generation"]}
    await world.controller.person.call("PUT", f"{world.path}/instances/{instance_id}/health", again)
    assert (await world.instance(instance_id))["generation"] == seen["generation"]


@pytest.mark.parametrize("kind", ["decommission", "repair", "deploy", "dance"])
async def test_the_way_out_cannot_be_closed(world: AppSite, kind: str) -> None:
    _, operation_id = await world.created()
    await world.controller.does(operation_id, "claim")
    mode = {**ALONE, "closed": [{"kind": kind, "message": "No.", "next_step": "Stay."}]}
    refused = await world.controller.send(operation_id, "complete", {"mode": mode})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
