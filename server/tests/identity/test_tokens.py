"""Tokens: forged, expired, rotated."""

import asyncio
import base64
import json
from datetime import timedelta

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_server.audit.denials import ROWS_A_MINUTE
from gpuaas_server.identity import signing_keys
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from gpuaas_server.secrets import private_keys
from tests_support.people import MovableClock, Person, World, serving, sign_in
from tests_support.select import select


async def signer(world: World) -> tuple[str, Ed25519PrivateKey]:
    async with world.platform.database.connection(PLATFORM) as connection:
        return await signing_keys.signing_key(world.platform, connection)


def claims_of(token: str) -> dict[str, object]:
    found: dict[str, object] = jwt.decode(token, options={"verify_signature": False})
    return found


async def refusal(world: World, token: str) -> str:
    answer = await Person(world.client, "", "", token).get("/me")
    assert answer.status_code == 401, answer.text
    return str(answer.json()["code"])


async def test_a_token_says_who_for_whom_and_until_when(world: World) -> None:
    claims = claims_of(world.admin.token)
    assert (claims["iss"], claims["aud"], claims["sub"]) == ("gpuaas", "gpuaas-api", world.admin.id)
    assert claims["typ"] == "user"
    assert int(str(claims["exp"])) - int(str(claims["iat"])) == world.platform.settings.token_minutes * 60


async def test_a_token_without_signature_is_refused(world: World) -> None:
    key_id, _ = await signer(world)
    payload = world.admin.token.split(".")[1]
    for header in ({"alg": "none", "typ": "JWT"}, {"alg": "none", "typ": "JWT", "kid": key_id}):
        encoded = base64.urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=").decode()
        assert await refusal(world, f"{encoded}.{payload}.") == "token_invalid"


async def test_a_token_signed_with_the_public_key_as_a_password_is_refused(world: World) -> None:
    key_id, key = await signer(world)
    public = key.public_key().public_bytes_raw()
    forged = jwt.encode(claims_of(world.admin.token), public, algorithm="HS256", headers={"kid": key_id})
    assert await refusal(world, forged) == "token_invalid"


async def test_a_token_signed_with_another_key_is_refused(world: World) -> None:
    key_id, _ = await signer(world)
    for kid in (key_id, "sgk_unknown", "'; DROP TABLE users; --\x00"):
        forged = jwt.encode(
            claims_of(world.admin.token),
            Ed25519PrivateKey.generate(),
            algorithm="EdDSA",
            headers={"kid": kid},
        )
        assert await refusal(world, forged) == "token_invalid"


@pytest.mark.parametrize(
    "change",
    [
        {"aud": "other"},
        {"iss": "other"},
        {"sub": "usr_nobody"},
        {"sub": "\x00"},
        {"typ": "service_account"},
        {"epoch": 99},
        {"epoch": "1"},
        {"exp": None},
    ],
)
async def test_a_genuine_signature_over_other_claims_is_refused(world: World, change: dict[str, object]) -> None:
    key_id, key = await signer(world)
    claims = {k: v for k, v in {**claims_of(world.admin.token), **change}.items() if v is not None}
    forged = jwt.encode(claims, key, algorithm="EdDSA", headers={"kid": key_id})
    assert await refusal(world, forged) == "token_invalid"


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Basic abc", "Bearer a.b.c", "Bearer \u00e9", "x" * 5000])
async def test_a_malformed_authorization_header_is_refused(world: World, header: str) -> None:
    answer = await world.client.get("/me", headers={b"Authorization": header.encode("latin-1")})
    assert (answer.status_code, answer.json()["code"]) == (401, "token_invalid")


async def test_no_authorization_header_asks_to_sign_in(world: World) -> None:
    answer = await world.client.get("/me")
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


async def test_an_expired_token_is_refused_also_when_it_is_remembered(world: World, clock: MovableClock) -> None:
    token = await sign_in(world.client, world.admin.email, world.password)
    person = Person(world.client, "", "", token)
    assert (await person.get("/me")).status_code == 200
    clock.ahead = timedelta(minutes=world.platform.settings.token_minutes)
    assert await refusal(world, token) == "token_expired"


async def test_after_a_rotation_the_new_key_signs_and_old_tokens_stay_good(world: World) -> None:
    before = jwt.get_unverified_header(world.admin.token)["kid"]
    answer = await world.admin.call("POST", "/auth/keys")
    assert answer.status_code == 201, answer.text
    fresh = await sign_in(world.client, world.admin.email, world.password)
    assert jwt.get_unverified_header(fresh)["kid"] == answer.json()["id"] != before
    for token in (world.admin.token, fresh):
        assert (await Person(world.client, "", "", token).get("/me")).status_code == 200
    published = [key["kid"] for key in (await world.client.get("/auth/jwks")).json()["keys"]]
    assert published == [answer.json()["id"], before]


async def test_a_rotated_key_stops_verifying_when_its_last_token_has_expired(world: World, clock: MovableClock) -> None:
    key_id, key = await signer(world)
    await world.admin.call("POST", "/auth/keys")
    await asyncio.sleep(0.05)
    clock.ahead = timedelta(minutes=world.platform.settings.token_minutes + 2)
    claims = {**claims_of(world.admin.token), "exp": int(clock().timestamp()) + 600}
    assert await refusal(world, jwt.encode(claims, key, algorithm="EdDSA", headers={"kid": key_id})) == "token_invalid"
    assert key_id not in str((await world.client.get("/auth/jwks")).json())


@pytest.mark.usefixtures("only_news")
async def test_revoking_a_key_ends_its_tokens_at_once_on_every_replica(world: World, settings: Settings) -> None:
    leaked = jwt.get_unverified_header(world.admin.token)["kid"]
    await world.admin.call("POST", "/auth/keys")
    fresh = await sign_in(world.client, world.admin.email, world.password)
    async with running_platform(settings) as other, serving(other) as client:
        remembered = Person(client, "", "", world.admin.token)
        assert (await remembered.get("/me")).status_code == 200
        boss = Person(world.client, "", "", fresh)
        assert (await boss.call("DELETE", f"/auth/keys/{leaked}")).status_code == 204
        async with asyncio.timeout(60):  # the other replica hears of it a moment later
            while (await remembered.get("/me")).status_code == 200:
                await asyncio.sleep(0.005)
        assert (await remembered.get("/me")).json()["code"] == "token_invalid"
        assert await refusal(world, world.admin.token) == "token_invalid"
        assert (await Person(client, "", "", fresh).get("/me")).status_code == 200
    assert leaked not in str((await world.client.get("/auth/jwks")).json())


async def test_when_the_key_that_signs_is_revoked_another_takes_over(world: World) -> None:
    leaked = jwt.get_unverified_header(world.admin.token)["kid"]
    assert (await world.admin.call("DELETE", f"/auth/keys/{leaked}")).status_code == 204
    await asyncio.sleep(0.05)
    assert await refusal(world, world.admin.token) == "token_invalid"
    world.admin.token = await sign_in(world.client, world.admin.email, world.password)
    [row] = await world.audit(action="signing_key_revoke")
    assert row["details"] == {"followed_by": jwt.get_unverified_header(world.admin.token)["kid"]}
    assert (await world.admin.call("DELETE", "/auth/keys/sgk_01m7f81xahe0h8q54rrqq04p0d")).status_code == 404


async def test_a_session_outlives_the_key_of_its_tokens(world: World) -> None:
    grant = {"grant_type": "password", "username": world.admin.email, "password": world.password}
    begun = (await world.client.post("/auth/token", json=grant)).json()
    kid = jwt.get_unverified_header(begun["access_token"])["kid"]
    assert (await world.admin.call("DELETE", f"/auth/keys/{kid}")).status_code == 204
    grant = {"grant_type": "refresh_token", "refresh_token": begun["refresh_token"]}
    assert (await world.client.post("/auth/token", json=grant)).status_code == 200


async def test_a_token_of_a_key_made_on_another_replica_is_believed_at_once(world: World, settings: Settings) -> None:
    async with running_platform(settings) as other, serving(other) as client:
        await world.admin.call("POST", "/auth/keys")
        await asyncio.sleep(0.1)
        token = await sign_in(world.client, world.admin.email, world.password)
        assert (await Person(client, "", "", token).get("/me")).status_code == 200


async def test_the_published_key_verifies_a_token_for_anybody(world: World) -> None:
    keys = (await world.client.get("http://test/.well-known/jwks.json")).json()
    kid = jwt.get_unverified_header(world.admin.token)["kid"]
    key = jwt.PyJWKSet.from_dict(keys)[kid]
    assert jwt.decode(world.admin.token, key, algorithms=["EdDSA"], audience="gpuaas-api")["sub"] == world.admin.id


async def test_the_private_key_is_in_custody_and_opens_as_no_other(world: World) -> None:
    key_id, key = await signer(world)
    async with world.platform.database.connection(PLATFORM) as connection:
        found = await select(
            connection,
            "SELECT k.sealed_private_key, p.sealed_value FROM signing_keys k JOIN platform_private_keys p USING (id)",
        )
        row = await found.fetchone()
        assert row is not None
        assert row["sealed_private_key"] is None
        assert key.private_bytes_raw() not in bytes(row["sealed_value"])
        await connection.execute("UPDATE platform_private_keys SET id = 'sgk_other' WHERE id = %s", (key_id,))
        with pytest.raises(Problem) as refused:
            await private_keys.private_key_open(world.platform, connection, "sgk_other")
    assert refused.value.code == "secret_unreadable"


async def test_forged_tokens_are_written_down_a_few_times_a_minute_for_an_address(world: World) -> None:
    for _ in range(ROWS_A_MINUTE + 5):
        await refusal(world, "a.b.c")
    rows = await world.audit(action="me_show", outcome="denied")
    assert [(row["actor_kind"], row["address"]) for row in rows] == [("anonymous", "192.0.2.1")] * ROWS_A_MINUTE
