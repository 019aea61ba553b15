"""What may be launched where: every refusal at once, with its reason, and nothing left behind by it."""

import asyncio

from tests_support.apps import AppSite


async def test_all_reasons_against_a_placement_come_in_one_answer(world: AppSite) -> None:
    intent = [
        {"component_key": "head", "allocation_id": world.allocations[0]},
        {"component_key": "head", "allocation_id": world.allocations[1]},
        {"component_key": "stranger", "allocation_id": "alc_00000000000000000000000000"},
    ]
    answer = await world.create(placement_intent=intent)
    assert (answer.status_code, answer.json()["code"]) == (422, "placement_refused"), answer.text
    codes = {refusal["code"] for refusal in answer.json()["details"]["refusals"]}
    assert {"component_count_high", "allocation_foreign"} <= codes
    assert (await world.admin.get(f"{world.path}/instances"))["items"] == []


async def test_an_allocation_of_another_project_is_as_unknown_as_one_that_does_not_exist(world: AppSite) -> None:
    other = await world.admin.post(f"/tenants/{world.tenant_id}/projects", {"slug": "other", "name": "Other"})
    made = await world.admin.post(f"/projects/{other['id']}/allocations", {"sku": "slice", "gpu_count": 1})
    await world.settle()
    messages = []
    for allocation_id in (made["items"][0]["id"], "alc_00000000000000000000000000"):
        intent = [{"component_key": key, "allocation_id": allocation_id} for key in ("head", "node")]
        refusals = (await world.create(placement_intent=intent)).json()["details"]["refusals"]
        messages.append({one["message"].replace(allocation_id, "X") for one in refusals})
    assert messages[0] == messages[1] == {"X is not an allocation of this project."}


async def test_an_allocation_serves_one_instance_even_when_two_come_at_once(world: AppSite) -> None:
    answers = await asyncio.gather(*(world.create(f"twin-{n}") for n in range(4)))
    assert sorted(answer.status_code for answer in answers) == [201, 422, 422, 422]
    refused = next(answer for answer in answers if answer.status_code == 422).json()
    assert refused["code"] == "placement_refused"
    assert {one["code"] for one in refused["details"]["refusals"]} == {"allocation_busy"}


async def test_inputs_that_do_not_fit_are_refused_without_repeating_them(world: AppSite) -> None:
    answer = await world.create(inputs={"greeting": "s3cret" * 10})
    assert (answer.status_code, answer.json()["code"]) == (422, "inputs_invalid")
    assert "s3cret" not in answer.text


async def test_a_name_is_taken_once(world: AppSite) -> None:
    await world.created()
    intent = [{"component_key": key, "allocation_id": world.allocations[3]} for key in ("head", "node")]
    answer = await world.create(placement_intent=intent)
    assert (answer.status_code, answer.json()["code"]) == (409, "already_exists")


async def test_an_unknown_app_is_not_found(world: AppSite) -> None:
    answer = await world.create(app="nobody-knows")
    assert answer.status_code == 404


async def test_the_same_request_twice_is_one_instance(world: AppSite) -> None:
    intent = [{"component_key": key, "allocation_id": world.allocations[0]} for key in ("head", "node")]
    body = {"app": "echo", "name": "once", "placement_intent": intent, "inputs": {"greeting": "hi"}}
    headers = {"Authorization": f"Bearer {world.admin.token}", "Idempotency-Key": "deploy-once-1"}
    path = f"{world.path}/instances"
    first, second = [await world.site.client.post(path, json=body, headers=headers) for _ in range(2)]
    assert first.json() == second.json()
    assert second.headers["Idempotent-Replayed"] == "true"
