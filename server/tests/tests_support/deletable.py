"""A tenant with something in every table, emptied as its people would empty it; and the rows that the database holds of it."""

import secrets
from dataclasses import dataclass
from datetime import timedelta

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gpuaas_server.artifacts import registry_queries
from gpuaas_server.capacity import quotas
from gpuaas_server.capacity.quotas import ArtifactUse
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from tests_support.agents import Json, Person, ssh_line
from tests_support.apps import AppSite
from tests_support.artifacts import Workshop
from tests_support.projects import PASSWORD, Recipient
from tests_support.select import select

CONTENT = b"bytes of a tool\n" * 1000


@dataclass
class Furnished:
    """What a test wants to see gone, or never to see at all."""

    email: str
    account_id: str
    account_secret: str
    password: str
    person: Person
    refresh_token: str
    private_key: str
    instance_id: str


async def place_tables(platform: Platform) -> dict[str, set[str]]:
    """Every table with a tenant or project in it, and which of the two columns it has: read from the database itself."""
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(
            connection,
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
            " AND column_name IN ('tenant_id', 'project_id')",
        )
        found: dict[str, set[str]] = {}
        for row in await cursor.fetchall():
            found.setdefault(row["table_name"], set()).add(row["column_name"])
        return found


async def rows_of(platform: Platform, column: str, place: str) -> dict[str, int]:
    """How many rows each table has of the place; those that have none are not named."""
    counts = {}
    tables = [name for name, columns in (await place_tables(platform)).items() if column in columns]
    async with platform.database.connection(PLATFORM) as connection:
        for table in sorted(tables):
            cursor = await select(connection, f'SELECT count(*) AS n FROM "{table}" WHERE {column} = %s', (place,))
            row = await cursor.fetchone()
            if row and row["n"]:
                counts[table] = int(row["n"])
    return counts


async def lines(platform: Platform, query: str, *values: object) -> list[str]:
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, query, values)
        return [str(row["line"]) for row in await cursor.fetchall()]


async def furnish(world: AppSite) -> Furnished:
    """Something in every table of the tenant, through the API."""
    admin, tenant, path = world.admin, f"/tenants/{world.tenant_id}", world.path
    email = f"ann-{secrets.token_hex(3)}@acme.test"
    user = await admin.post(f"{tenant}/users", {"email": email, "name": "Ann", "password": PASSWORD})
    await admin.call("PUT", f"{tenant}/members/{user['id']}", {"role": "tenant_admin"})
    await admin.call("PUT", f"{path}/members/{user['id']}", {"role": "project_admin"})
    grant = {"grant_type": "password", "username": email, "password": PASSWORD}
    await world.site.client.post("/auth/token", json=grant | {"password": "wrong"})
    await world.site.client.post("/auth/session", json=grant)
    signed_in = (await world.site.client.post("/auth/token", json=grant)).json()
    ann = Person(world.site.client, signed_in["access_token"])
    await ann.post("/me/ssh-keys", {"name": "laptop", "public_key": ssh_line()})
    account = await admin.post(f"{path}/service-accounts", {"name": "robot", "scopes": ["projects:read"]})
    await _certificate(admin, f"{path}/service-accounts/{account['id']}/certificates")
    await admin.call("PUT", f"{tenant}/quota", {"gpu_limit": 100})
    await admin.call("PUT", f"{path}/quota", {"gpu_limit": 50})
    await _trust(admin, tenant)
    private_key = await _credential(admin, path)
    await _artifacts(world)
    instance_id = await _apps(world)
    await _machines(world, admin)
    await world.settle()
    secret = account["key"]["secret"]
    return Furnished(email, account["id"], secret, PASSWORD, ann, signed_in["refresh_token"], private_key, instance_id)


async def _trust(admin: Person, tenant: str) -> None:
    public = generate_private_key(SECP256R1()).public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    await admin.post(f"{tenant}/trust-keys", {"name": "release", "public_key": pem})
    await admin.call("PUT", f"{tenant}/trust-policy", {"require_signature": False, "reason": "as it was"})


async def _certificate(admin: Person, path: str) -> None:
    key = generate_private_key(SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, SHA256())
    await admin.post(path, {"certificate_request": request.public_bytes(Encoding.PEM).decode()})


async def _credential(admin: Person, path: str) -> str:
    made = await admin.post(f"{path}/access-credentials", {"name": "deploy", "kind": "ssh_key"})
    recipient = Recipient.new()
    body = {"recipient_key": recipient.key}
    delivered = await admin.post(f"{path}/access-credentials/{made['id']}/deliveries", body)
    return recipient.open(delivered["sealed_private_key"]).decode()


async def count_app_artifact(world: AppSite) -> None:
    """The app's, which `publish` puts there without counting it."""
    use = ArtifactUse(world.tenant_id, world.project_id, 1, 1)
    async with world.platform.transaction(PLATFORM, system_actor("test")) as tx:
        await quotas.count_artifacts(tx, world.platform.settings, use)


async def _artifacts(world: AppSite) -> None:
    shop = Workshop(world.site, world.tenant_id, world.project_id)
    await count_app_artifact(world)
    await shop.evidence(await shop.publish_blob(CONTENT), "lint")
    unfinished = await shop.intend(name="never-finished")
    assert (await shop.upload(unfinished, CONTENT)).status_code == 200
    async with world.platform.database.connection(PLATFORM) as connection:  # as the registry's process measures it
        await registry_queries.usage_store(connection, {world.project_id: 1}, world.clock())


async def _kind_binding(world: AppSite) -> None:
    """Bind a kind, as the platform's own project may. It is that project for this moment only."""
    for platform in (True, False):
        async with world.platform.database.connection(PLATFORM) as connection:
            await connection.execute("UPDATE projects SET platform = %s WHERE id = %s", (platform, world.project_id))
        if platform:
            body = {"artifact_kind": "launchable", "service_account_id": world.controller.account_id}
            await world.admin.post(f"{world.path}/controller-kind-bindings", body)


async def _apps(world: AppSite) -> str:
    admin, path = world.admin, world.path
    await admin.post(f"/tenants/{world.tenant_id}/entitlements", {"app": "echo"})
    chosen = await admin.call("PUT", f"{path}/catalog/echo/channel", {"channel": "stable"})
    assert chosen.status_code == 200, chosen.text
    bound = {"app": "echo", "service_account_id": world.controller.account_id}
    await admin.post(f"{path}/controller-bindings", bound)
    await _kind_binding(world)
    await admin.post(f"/tenants/{world.tenant_id}/controller-consents", {"app": "echo"})
    await world.controller.work()  # which makes it a live replica
    await world.publish(version="1.3.0", secrets=[{"key": "token", "source": "generated"}])
    instance_id, operation_id = await world.created()
    await world.controller.does(operation_id, "claim")
    lease = {"lease_token": world.controller.token, "recipient_key": Recipient.new().key}
    await world.controller.person.post(f"{path}/operations/{operation_id}/runtime-secrets", lease)
    await world.controller.person.post(f"{path}/operations/{operation_id}/secrets", lease)
    await world.controller.does(operation_id, "complete")
    record: Json = {
        "source_key": "a/1",
        "project_id": world.project_id,
        "metric": "echoes",
        "unit": "count",
        "quantity": 3,
    }
    moments = dict.fromkeys(("started_at", "ended_at"), world.clock().isoformat())
    usage = await world.controller.person.call(
        "POST", f"{path}/instances/{instance_id}/usage", {"records": [record | moments]}
    )
    assert usage.status_code == 200, usage.text
    return instance_id


async def _machines(world: AppSite, admin: Person) -> None:
    allocation = f"{world.path}/allocations/{world.allocations[3]}"
    soon = (world.clock() + timedelta(hours=1)).isoformat()
    await admin.post(f"{allocation}/ssh-certificates", {"public_key": ssh_line()})
    await admin.post(f"{allocation}/ssh-grants", {"public_key": ssh_line(), "expires_at": soon})
    await admin.post(f"{allocation}/host-reports", {"reason": "GPU 1 falls off the bus"})
    await admin.post(f"{allocation}/terminals", {})


async def empty(world: AppSite, instance_id: str) -> None:
    """End what lives: the instance, then the allocations."""
    operation_id = await world.asked(instance_id, "decommission", reason="the end")
    await world.controller.carry_out(operation_id)
    await world.settle()
    for allocation in world.allocations:
        await world.admin.post(f"{world.path}/allocations/{allocation}/release", {"reason": "the end"})
    world.clock.ahead += timedelta(minutes=10)
    await world.settle()
    await world.settle()


async def pass_grace(world: AppSite, days: int = 7) -> None:
    """Let the worker work as if the grace period had passed, until the purge has ended; then it is now again, so that
    people's tokens are good.
    """
    before = world.clock.ahead
    world.clock.ahead += timedelta(days=days, seconds=1)
    for _ in range(20):
        await world.settle()
        if not await lines(world.platform, "SELECT id AS line FROM deletions WHERE ended_at IS NULL"):
            world.clock.ahead = before
            return
        world.clock.ahead += timedelta(seconds=70)
    raise AssertionError("the purge never ends")
