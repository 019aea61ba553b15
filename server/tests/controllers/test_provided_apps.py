"""The platform says which of its own apps are missing: everybody learns that, and operators learn why."""

from tests_support.apps import AppSite
from tests_support.platform_apps import apps_account, own_project
from tests_support.projects import Project


def people(world: AppSite) -> Project:
    return Project(world.site, world.tenant_id, world.project_id, [])


async def test_people_learn_that_an_app_is_missing_and_only_operators_why(world: AppSite) -> None:
    account, provider = await apps_account(world)
    path = f"/projects/{account.project_id}/provided-apps"
    told = {"display_name": "Tool", "state": "unavailable", "detail": "There is no /srv/tool.tar."}
    answer = await provider.call("PUT", f"{path}/tool", told)
    assert answer.status_code == 200, answer.text
    member = await people(world).person("project_member")
    (seen,) = (await member.get(f"{world.path}/provided-apps"))["items"]
    assert (seen["name"], seen["state"], seen["detail"]) == ("tool", "unavailable", None)
    assert "administrator of the platform" in seen["next_step"]
    (known,) = (await world.admin.get(f"{world.path}/provided-apps"))["items"]
    assert known["detail"] == told["detail"]


async def test_the_last_report_counts(world: AppSite) -> None:
    account, provider = await apps_account(world)
    path = f"/projects/{account.project_id}/provided-apps/tool"
    for state in ("preparing", "provided"):
        assert (await provider.call("PUT", path, {"display_name": "Tool", "state": state})).status_code == 200
    (seen,) = (await world.admin.get(f"{world.path}/provided-apps"))["items"]
    assert (seen["state"], seen["detail"], seen["next_step"]) == ("provided", None, None)


async def test_only_a_change_of_state_is_in_the_trail(world: AppSite) -> None:
    account, provider = await apps_account(world)
    path = f"/projects/{account.project_id}/provided-apps/tool"
    for state, detail in (("preparing", "step 1"), ("preparing", "step 2"), ("provided", None), ("provided", None)):
        body = {"display_name": "Tool", "state": state, "detail": detail}
        assert (await provider.call("PUT", path, body)).status_code == 200
    trail = (await world.admin.get(f"/projects/{account.project_id}/audit?action=provided_app_report"))["items"]
    moves = [(one["details"]["before"], one["details"]["state"]) for one in reversed(trail)]
    assert moves == [(None, "preparing"), ("preparing", "provided")]


async def test_nobody_else_reports_and_nothing_is_reported_elsewhere(world: AppSite) -> None:
    own = await own_project(world)
    body = {"display_name": "Tool", "state": "provided"}
    tenant = await people(world).person("project_admin")
    assert (await tenant.call("PUT", f"{world.path}/provided-apps/tool", body)).status_code == 403
    assert (await tenant.call("PUT", f"{own.path}/provided-apps/tool", body)).status_code == 404
    refused = await world.admin.call("PUT", f"{world.path}/provided-apps/tool", body)
    assert (refused.status_code, refused.json()["code"]) == (404, "not_found")
    assert (await world.admin.get(f"{world.path}/provided-apps"))["items"] == []
