"""Credentials of a project: kept, given out sealed, rotated, revoked; and what the hosts are told of it."""

import base64
from datetime import timedelta

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_private_key

from gpuaas_server.access import service
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from tests_support import projects
from tests_support.agents import Json, MovableClock, Person, Site, ssh_line
from tests_support.projects import Project, Recipient


@pytest.fixture
async def project(site: Site) -> Project:
    return await projects.furnished(site, allocations=2)


async def create(project: Project, kind: str = "ssh_key", name: str = "deploy") -> Json:
    return await project.site.admin.post(project.credentials, {"name": name, "kind": kind})


async def deliver(project: Project, credential: Json, recipient: Recipient) -> Json:
    body = {"recipient_key": recipient.key}
    return await project.site.admin.post(f"{project.credentials}/{credential['id']}/deliveries", body)


async def grant(project: Project, credential: Json, allocation: str) -> Json:
    body = {"access_credential_id": credential["id"], "expires_at": (utc_now() + timedelta(days=1)).isoformat()}
    return await project.site.admin.post(f"{project.path}/allocations/{allocation}/ssh-grants", body)


async def on_host(project: Project, allocation: str) -> list[str]:
    """The public keys that the next sync_access puts there; and a sync is wanted."""
    platform = project.site.platform
    async with platform.database.connection(PLATFORM) as connection:
        found = await service.grants_of(connection, [allocation], platform.clock())
    [row] = await project.sql("SELECT access_wanted > access_sent AS told FROM allocations WHERE id = %s", allocation)
    assert row["told"]
    return [one.public_key for one in found.get(allocation, [])]


def public_side(private_key: bytes) -> str:
    public = load_ssh_private_key(private_key, None).public_key()
    return public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


async def refused(person: Person, path: str, body: Json) -> str:
    answer = await person.call("POST", path, body)
    assert answer.status_code >= 400, answer.text
    return str(answer.json()["code"])


async def test_the_delivered_private_key_is_that_of_the_public_one_and_opens_for_the_recipient_only(
    project: Project,
) -> None:
    credential, recipient = await create(project), Recipient.new()
    delivered = await deliver(project, credential, recipient)
    sealed = delivered["sealed_private_key"]
    assert public_side(recipient.open(sealed)) == credential["public_key"]
    with pytest.raises(InvalidTag):
        Recipient.new().open(sealed)
    with pytest.raises(InvalidTag):
        recipient.open({**sealed, "info": sealed["info"].replace(":1:", ":2:")})


async def test_every_delivery_is_logged_with_the_recipient_and_cannot_be_unlogged(project: Project) -> None:
    credential = await create(project)
    made = [await deliver(project, credential, Recipient.new()) for _ in range(3)]
    path = f"{project.credentials}/{credential['id']}/deliveries"
    log = (await project.site.admin.get(path))["items"]
    assert [one["id"] for one in log] == [one["id"] for one in reversed(made)]
    assert len({one["recipient_fingerprint"] for one in log}) == 3
    assert "sealed_private_key" not in log[0]
    page = await project.site.admin.get(f"{path}?limit=2")
    assert [one["id"] for one in (await project.site.admin.get(f"{path}?after={page['next_cursor']}"))["items"]] == [
        made[0]["id"]
    ]
    for statement in ("DELETE FROM credential_deliveries", "UPDATE credential_deliveries SET version = 7"):
        with pytest.raises(Exception, match="only ever added"):
            await project.sql(statement)


async def test_a_rotation_puts_the_new_key_wherever_the_old_one_was(project: Project) -> None:
    credential = await create(project)
    for allocation in project.allocations:
        await grant(project, credential, allocation)
        assert await on_host(project, allocation) == [credential["public_key"]]
    rotated = await project.site.admin.post(f"{project.credentials}/{credential['id']}/rotate", {})
    assert (rotated["version"], rotated["generation"]) == (2, 2)
    for allocation in project.allocations:
        assert await on_host(project, allocation) == [rotated["public_key"]] != [credential["public_key"]]
    recipient = Recipient.new()
    delivered = await deliver(project, rotated, recipient)
    assert public_side(recipient.open(delivered["sealed_private_key"])) == rotated["public_key"]
    states = await project.sql("SELECT version, wrapped_key IS NULL AS gone FROM secrets ORDER BY version")
    assert [(row["version"], row["gone"]) for row in states] == [(1, True), (2, False)]


async def test_with_an_overlap_the_old_key_opens_until_it_ends(clock: MovableClock, project: Project) -> None:
    credential = await create(project)
    await grant(project, credential, project.allocations[0])
    body = {"overlap_minutes": 10}
    rotated = await project.site.admin.post(f"{project.credentials}/{credential['id']}/rotate", body)
    assert await on_host(project, project.allocations[0]) == [credential["public_key"], rotated["public_key"]]
    clock.ahead = timedelta(minutes=11)
    assert await on_host(project, project.allocations[0]) == [rotated["public_key"]]


async def test_a_revocation_takes_the_key_from_the_hosts_and_destroys_it(project: Project) -> None:
    credential = await create(project)
    await grant(project, credential, project.allocations[0])
    path = f"{project.credentials}/{credential['id']}"
    for _ in range(2):  # twice is no error
        ended = await project.site.admin.post(f"{path}/revoke", {"reason": "leaked"})
    assert (ended["revoked_at"] is not None, ended["allowed_actions"]) == (True, [])
    assert await on_host(project, project.allocations[0]) == []
    [row] = await project.sql("SELECT wrapped_key, sealed_value FROM secrets")
    assert row == {"wrapped_key": None, "sealed_value": None}
    admin = project.site.admin
    assert await refused(admin, f"{path}/deliveries", {"recipient_key": Recipient.new().key}) == "credential_revoked"
    assert await refused(admin, f"{path}/rotate", {}) == "credential_revoked"
    until = (utc_now() + timedelta(days=1)).isoformat()
    grants = f"{project.path}/allocations/{project.allocations[0]}/ssh-grants"
    again = {"access_credential_id": credential["id"], "expires_at": until}
    assert await refused(admin, grants, again) == "credential_revoked"
    assert (await create(project))["name"] == credential["name"]  # the name is free again


async def test_a_certificate_credential_stores_nothing_and_its_certificates_end_with_it(project: Project) -> None:
    credential = await create(project, "ssh_certificate")
    assert (credential["public_key"], credential["fingerprint"]) == (None, None)
    assert await project.sql("SELECT 1 FROM secrets") == []
    path = f"{project.credentials}/{credential['id']}"
    body = {"public_key": ssh_line(), "allocation_id": project.allocations[0], "minutes": 5}
    given = await project.site.admin.post(f"{path}/deliveries", body)
    assert given["certificate"]["principal"] == project.allocations[0]
    assert given["serial"] == given["certificate"]["serial"]
    listed = await project.site.admin.get(f"{project.path}/allocations/{project.allocations[0]}/ssh-certificates")
    assert listed["items"][0]["access_credential_id"] == credential["id"]
    await project.site.admin.post(f"{path}/revoke", {"reason": "done"})
    async with project.site.platform.database.connection(PLATFORM) as connection:
        assert await service.revoked_serials(connection, project.allocations[0]) == [given["serial"]]
    assert await on_host(project, project.allocations[0]) == []


async def test_a_kind_is_asked_for_what_it_needs(project: Project) -> None:
    key, certificate = await create(project), await create(project, "ssh_certificate", "people")
    admin = project.site.admin
    signed = {"public_key": ssh_line(), "allocation_id": project.allocations[0]}
    sealed = {"recipient_key": Recipient.new().key}
    assert await refused(admin, f"{project.credentials}/{key['id']}/deliveries", signed) == "invalid_request"
    assert await refused(admin, f"{project.credentials}/{certificate['id']}/deliveries", sealed) == "invalid_request"
    assert await refused(admin, f"{project.credentials}/{certificate['id']}/rotate", {}) == "conflict"
    until = (utc_now() + timedelta(days=1)).isoformat()
    grants = f"{project.path}/allocations/{project.allocations[0]}/ssh-grants"
    body = {"access_credential_id": certificate["id"], "expires_at": until}
    assert await refused(admin, grants, body) == "invalid_request"
    assert await refused(admin, grants, {**body, "access_credential_id": new_id("crd")}) == "not_found"
    assert await refused(admin, grants, {**body, "public_key": ssh_line()}) == "invalid_request"


@pytest.mark.parametrize(
    "recipient_key", ["", "short", "A" * 44, base64.b64encode(bytes(32)).decode(), base64.b64encode(b"x" * 33).decode()]
)
async def test_a_recipient_key_that_protects_nothing_is_refused(project: Project, recipient_key: str) -> None:
    credential = await create(project)
    path = f"{project.credentials}/{credential['id']}/deliveries"
    assert await refused(project.site.admin, path, {"recipient_key": recipient_key}) == "invalid_request"
    assert (await project.site.admin.get(path))["items"] == []


async def test_a_name_is_given_once(project: Project) -> None:
    await create(project)
    again = await project.site.admin.call("POST", project.credentials, {"name": "deploy", "kind": "ssh_key"})
    assert (again.status_code, again.json()["code"]) == (409, "already_exists")
    assert len(await project.sql("SELECT 1 FROM secrets")) == 1


async def test_a_repeated_request_makes_one_key(project: Project) -> None:
    headers = {"Authorization": f"Bearer {project.site.admin.token}", "Idempotency-Key": "once-and-again"}
    body = {"name": "deploy", "kind": "ssh_key"}
    first, second = [await project.site.client.post(project.credentials, json=body, headers=headers) for _ in range(2)]
    assert first.json() == second.json()
    assert len(await project.sql("SELECT 1 FROM secrets")) == 1


async def test_a_rotation_against_another_generation_is_refused(project: Project) -> None:
    credential = await create(project)
    path = f"{project.credentials}/{credential['id']}/rotate"
    answer = await project.site.admin.call("POST", path, {}, if_match=7)
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition_failed")


async def test_a_user_of_credentials_gets_keys_and_a_reader_sees_the_log(project: Project) -> None:
    credential = await create(project)
    path = f"{project.credentials}/{credential['id']}"
    user, member = await project.program("credentials:use"), await project.person("project_member")
    recipient = Recipient.new()
    made = await user.post(f"{path}/deliveries", {"recipient_key": recipient.key})
    assert public_side(recipient.open(made["sealed_private_key"])) == credential["public_key"]
    assert await refused(member, f"{path}/deliveries", {"recipient_key": recipient.key}) == "forbidden"
    assert (await member.get(f"{path}/deliveries"))["items"][0]["delivered_to"] == made["delivered_to"]
    assert (await member.get(path))["allowed_actions"] == []


async def test_the_store_being_away_is_a_coded_answer_and_changes_nothing(
    project: Project, platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    credential = await create(project)
    away = {
        "custody_backend": "openbao",
        "openbao_url": "http://127.0.0.1:9",
        "openbao_token_file": platform.settings.data_dir / "t",
    }
    (platform.settings.data_dir / "t").write_text("token")
    monkeypatch.setattr(platform, "settings", platform.settings.model_copy(update=away))
    for path, body in (
        (project.credentials, {"name": "other", "kind": "ssh_key"}),
        (f"{project.credentials}/{credential['id']}/rotate", {}),
    ):
        answer = await project.site.admin.call("POST", path, body)
        assert (answer.status_code, answer.json()["code"]) == (503, "secret_store_unavailable")
        assert answer.json()["retryable"]
        assert "Retry-After" in answer.headers
    assert len((await project.site.admin.get(project.credentials))["items"]) == 1
    recipient = Recipient.new()  # what was kept before is in the database, and opens
    assert (await deliver(project, credential, recipient))["version"] == 1
