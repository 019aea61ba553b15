"""Certificates that end before their time: by an administrator, by their holder, or because the holder left."""

from dataclasses import dataclass
from datetime import timedelta

import pytest

from gpuaas_server.access import service
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.runtime import running_platform
from tests_support.agents import Json, Person, Site, inventory, serving, slot, ssh_line
from tests_support.select import select

PASSWORD = "correct horse battery"


@dataclass
class Office:
    """Two members and a viewer of a project with an active allocation."""

    site: Site
    project: str
    allocation: str
    ids: dict[str, str]
    people: dict[str, Person]

    @property
    def path(self) -> str:
        return f"/projects/{self.project}/allocations/{self.allocation}"

    async def certificate(self, who: str) -> int:
        made = await self.people[who].post(f"{self.path}/ssh-certificates", {"public_key": ssh_line()})
        return int(made["serial"])

    async def revoke(self, who: str, **wanted: object) -> list[int]:
        body = {"reason": "the laptop is lost", **wanted}
        answer: list[int] = (await self.people[who].post(f"{self.path}/ssh-certificates/revoke", body))["revoked"]
        return answer

    async def host_is_told(self) -> list[int]:
        """What the next sync_access says, and whether one is wanted."""
        async with self.site.platform.database.connection(PLATFORM) as connection:
            row = await (await select(connection, "SELECT access_wanted, access_sent FROM allocations")).fetchone()
            assert row is not None
            revoked = await service.revoked_serials(connection, self.allocation)
            assert (row["access_wanted"] > row["access_sent"]) == bool(revoked)
            return revoked


@pytest.fixture
async def office(site: Site) -> Office:
    host, admin = await site.host(), site.admin
    await host.call("POST", "/inventory", inventory(slot(0)))
    await admin.post(f"/nodes/{host.node_id}/slots/approve", {})
    tenant = (await admin.post("/tenants", {"slug": "acme", "name": "Acme"}))["id"]
    project = (await admin.post(f"/tenants/{tenant}/projects", {"slug": "train", "name": "Train"}))["id"]
    sku = {"name": "h100", "shape": "gpu_slice", "gpu_model": slot(0)["gpu_model"], "gpu_counts": [1]}
    await admin.post("/skus", sku | {"price_per_gpu_hour_minor": 200, "currency": "EUR"})
    made = await admin.post(f"/projects/{project}/allocations", {"sku": "h100", "gpu_count": 1})
    async with site.platform.database.connection(PLATFORM) as connection:
        await connection.execute(
            "UPDATE allocations SET state = 'active', ssh_address = '10.0.0.1', ssh_port = 22, ssh_user = 'gpu'"
        )
    office = Office(site, project, made["items"][0]["id"], {}, {"admin": admin})
    for name, role in (("ann", "project_member"), ("ben", "project_member"), ("vera", "project_viewer")):
        body = {"email": f"{name}@acme.test", "name": name, "password": PASSWORD}
        office.ids[name] = (await admin.post(f"/tenants/{tenant}/users", body))["id"]
        await admin.call("PUT", f"/projects/{project}/members/{office.ids[name]}", {"role": role})
        grant = {"grant_type": "password", "username": f"{name}@acme.test", "password": PASSWORD}
        token = (await site.client.post("/auth/token", json=grant)).json()["access_token"]
        office.people[name] = Person(site.client, token)
    return office


async def test_the_list_says_whose_and_until_when(office: Office) -> None:
    serials = [await office.certificate(who) for who in ("ann", "ben", "ann")]
    for who in ("admin", "ann", "vera"):
        items = (await office.people[who].get(f"{office.path}/ssh-certificates"))["items"]
        assert [item["serial"] for item in items] == serials[::-1]
    assert [item["issued_to"] for item in items] == [office.ids[who] for who in ("ann", "ben", "ann")]
    first = await office.people["ann"].get(f"{office.path}/ssh-certificates?limit=2")
    rest = await office.people["ann"].get(f"{office.path}/ssh-certificates?limit=2&after={first['next_cursor']}")
    assert [item["serial"] for item in rest["items"]] == serials[:1]
    assert rest["next_cursor"] is None


async def test_an_administrator_revokes_one_holders_or_one_or_all(office: Office) -> None:
    anns = [await office.certificate("ann"), await office.certificate("ann")]
    bens = [await office.certificate("ben"), await office.certificate("ben")]
    assert await office.revoke("admin", issued_to=office.ids["ann"]) == anns
    assert await office.host_is_told() == anns
    assert await office.revoke("admin", serial=bens[0]) == bens[:1]
    assert await office.revoke("admin") == bens[1:]
    assert await office.revoke("admin") == []
    assert await office.host_is_told() == sorted(anns + bens)


async def test_a_member_revokes_only_their_own_certificates(office: Office) -> None:
    ann, ben = await office.certificate("ann"), await office.certificate("ben")
    for wanted in ({"serial": ann}, {"issued_to": office.ids["ann"]}):
        body = {"reason": "because", **wanted}
        answer = await office.people["ben"].call("POST", f"{office.path}/ssh-certificates/revoke", body)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert await office.revoke("ben") == [ben]
    assert await office.host_is_told() == [ben]


async def test_revoking_again_or_too_late_is_no_error_and_a_strange_serial_is(office: Office) -> None:
    serial = await office.certificate("ann")
    async with office.site.platform.database.connection(PLATFORM) as connection:
        await connection.execute("UPDATE ssh_certificates SET valid_before = now()")
    assert await office.revoke("ann", serial=serial) == []
    body = {"serial": serial + 1000, "reason": "because"}
    assert (await office.people["ann"].call("POST", f"{office.path}/ssh-certificates/revoke", body)).status_code == 404
    elsewhere = f"/projects/{office.project}/allocations/{new_id('alc')}/ssh-certificates"
    assert (await office.people["ann"].call("POST", f"{elsewhere}/revoke", body)).status_code == 404
    assert (await office.people["ann"].call("GET", elsewhere)).status_code == 404


@pytest.mark.parametrize(
    "change", [{"serial": 0}, {"serial": 2**53}, {"serial": "1"}, {"issued_to": "ann"}, {"reason": ""}]
)
async def test_a_senseless_revocation_is_refused(office: Office, change: Json) -> None:
    body = {"reason": "because", **change}
    assert (await office.people["ann"].call("POST", f"{office.path}/ssh-certificates/revoke", body)).status_code == 422


async def test_a_revocation_is_audited_with_its_reason(office: Office) -> None:
    serial = await office.certificate("ann")
    await office.revoke("admin", serial=serial)
    [row] = (await office.site.admin.get("/audit?action=ssh_certificate_revoke"))["items"]
    assert (row["reason"], row["details"]["serials"]) == ("the laptop is lost", [serial])


async def test_a_host_receives_revocations_only_while_they_matter(office: Office) -> None:
    serial = await office.certificate("ann")
    await office.revoke("ann")
    async with office.site.platform.database.connection(PLATFORM) as connection:
        assert await service.revoked_serials(connection, office.allocation) == [serial]
        later = utc_now() + timedelta(hours=2)
        assert await service.revoked_serials(connection, office.allocation, later) == []


@pytest.mark.parametrize("how", ["removed", "made a viewer"])
async def test_a_member_who_leaves_the_project_loses_access_to_its_allocations(office: Office, how: str) -> None:
    ann, ben = await office.certificate("ann"), await office.certificate("ben")
    until = (utc_now() + timedelta(hours=1)).isoformat()
    for who in ("ann", "ben"):
        await office.people[who].post(f"{office.path}/ssh-grants", {"public_key": ssh_line(), "expires_at": until})
    async with running_platform(office.site.platform.settings) as other, serving(other) as client:
        boss, member = (
            Person(client, office.site.admin.token),
            f"/projects/{office.project}/members/{office.ids['ann']}",
        )
        answer = await (
            boss.call("DELETE", member) if how == "removed" else boss.call("PUT", member, {"role": "project_viewer"})
        )
        assert answer.status_code in (200, 204), answer.text
    assert await office.host_is_told() == [ann]
    async with office.site.platform.database.connection(PLATFORM) as connection:
        [left] = (await service.grants_of(connection, [office.allocation]))[office.allocation]
    items = (await office.site.admin.get(f"{office.path}/ssh-grants"))["items"]
    assert {one["id"]: one["granted_to"] for one in items}[left.grant_id] == office.ids["ben"]
    assert ben not in await office.host_is_told()
