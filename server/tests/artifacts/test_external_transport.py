"""Registries that misbehave: they lie, are slow, send elsewhere, or want credentials for others."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from gpuaas_server.artifacts import external_images
from gpuaas_server.artifacts.external_images import ExternalImage, check_external, external_registry
from gpuaas_server.artifacts.external_transport import ExternalTransport, PullCredential
from gpuaas_server.artifacts.oci import Image, Registry
from gpuaas_server.kernel.allowed_hosts import AllowedHosts
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support.external_registries import (
    PASSWORD,
    USER,
    FaultyRegistry,
    SmallImage,
    answer,
    basic,
    digest_of,
    faulty_registry,
    redirect,
    small_image,
)

REPOSITORY = "team/trainer"
IMAGE = small_image()
MANIFEST = f"/v2/{REPOSITORY}/manifests/{IMAGE.digest}"


@pytest.fixture
def registry() -> Iterator[FaultyRegistry]:
    with faulty_registry() as running:
        running.hold(REPOSITORY, IMAGE)
        yield running


@pytest.fixture
def other() -> Iterator[FaultyRegistry]:
    with faulty_registry() as running:
        yield running


async def read(
    registry: FaultyRegistry, *more: FaultyRegistry, credential: PullCredential | None = None, networks: str = ""
) -> Image:
    hosts = ",".join(f"http://{one.address}" for one in (registry, *more))
    transport = ExternalTransport(AllowedHosts(hosts, networks), registry.address, credential)
    found = ExternalImage(registry.address, REPOSITORY, IMAGE.digest, None)
    return await check_external(Registry(transport), Settings(), found)


async def code_of(registry: FaultyRegistry, *more: FaultyRegistry, credential: PullCredential | None = None) -> str:
    with pytest.raises(Problem) as refused:
        await read(registry, *more, credential=credential)
    assert PASSWORD not in str(refused.value.detail)
    return refused.value.code


OURS = PullCredential(USER, PASSWORD)


async def test_a_public_image_is_read_without_credentials(registry: FaultyRegistry) -> None:
    assert (await read(registry, credential=OURS)).size_bytes > 20_000
    assert registry.credentials_seen(MANIFEST) == [None, None]


async def test_a_registry_that_lies_about_a_digest_is_found_out(registry: FaultyRegistry) -> None:
    registry.content[MANIFEST] = registry.content[MANIFEST][0], small_image().manifest
    assert await code_of(registry) == "digest_mismatch"


async def test_an_endless_manifest_is_not_read_to_its_end(registry: FaultyRegistry) -> None:
    registry.content[MANIFEST] = "application/json", b" " * (5 << 20)
    assert await code_of(registry) == "artifact_invalid"


async def test_an_answer_that_breaks_off_is_a_registry_that_is_away(registry: FaultyRegistry) -> None:
    registry.content[MANIFEST] = "application/json", b" " * 100_000
    registry.break_off = True
    assert await code_of(registry) == "registry_unavailable"


@pytest.mark.parametrize(
    ("status", "code"), [(500, "registry_unavailable"), (429, "registry_unavailable"), (403, "registry_denied")]
)
async def test_refusals_and_failures_are_told_apart(registry: FaultyRegistry, status: int, code: str) -> None:
    registry.replies[MANIFEST] = answer(status)
    assert await code_of(registry) == code


async def test_a_redirect_to_a_listed_host_is_followed_without_the_credential(
    registry: FaultyRegistry, other: FaultyRegistry
) -> None:
    registry.challenge = 'Basic realm="r"'
    other.content["/there"] = registry.content[MANIFEST]
    content = registry.content[MANIFEST][1]

    def wants_password(request: BaseHTTPRequestHandler) -> None:
        shown = request.headers.get("Authorization")
        if shown is None:
            request.send_response(401)
            request.send_header("WWW-Authenticate", registry.challenge)
            request.send_header("Content-Length", "0")
            request.end_headers()
        else:
            assert shown == basic()
            redirect(f"http://{other.address}/there?signed=1")(request)

    registry.replies[MANIFEST] = wants_password
    assert (await read(registry, other, credential=OURS)).size_bytes == len(content) + sum(map(len, IMAGE.blobs))
    assert other.seen == [("/there", None)]


@pytest.mark.parametrize(
    "target",
    ["http://{other}/there", "//{other}/there", "http://169.254.169.254/latest", "file:///etc/passwd", "http://[::1"],
)
async def test_a_redirect_elsewhere_is_not_followed(
    registry: FaultyRegistry, other: FaultyRegistry, target: str
) -> None:
    registry.replies[MANIFEST] = redirect(target.replace("{other}", other.address))
    assert await code_of(registry) in ("registry_not_allowed", "registry_unavailable")
    assert other.seen == []


async def test_redirects_end(registry: FaultyRegistry) -> None:
    registry.replies[MANIFEST] = redirect(MANIFEST)
    assert await code_of(registry) == "registry_unavailable"
    assert len(registry.seen) <= 12


async def test_the_token_protocol_is_spoken_and_a_token_that_expired_is_replaced(
    registry: FaultyRegistry, other: FaultyRegistry
) -> None:
    registry.challenge = f'Bearer realm="http://{other.address}/token",service="outside"'
    other.replies["/token"] = answer(200, json.dumps({"access_token": "of-minutes"}).encode())
    assert (await read(registry, other, credential=OURS)).size_bytes > 20_000
    assert other.seen == [("/token", basic())]
    assert registry.credentials_seen(MANIFEST) == [None, "Bearer of-minutes"]
    transport = ExternalTransport(
        AllowedHosts(f"http://{registry.address},http://{other.address}"), registry.address, OURS
    )
    reading = Registry(transport)
    assert await reading.read_image(REPOSITORY, IMAGE.digest) is not None
    wanted = "Bearer of-minutes"

    def expired(request: BaseHTTPRequestHandler) -> None:
        if request.headers.get("Authorization") == wanted:
            registry.replies.pop(MANIFEST)
            other.replies["/token"] = answer(200, b'{"token": "another"}')
        answer(401)(request)

    registry.replies[MANIFEST] = expired
    assert await reading.read_image(REPOSITORY, IMAGE.digest) is not None
    assert registry.credentials_seen(MANIFEST)[-1] == "Bearer another"


async def test_a_token_service_that_is_not_listed_gets_no_password(
    registry: FaultyRegistry, other: FaultyRegistry
) -> None:
    for realm in (f"http://{other.address}/token", "not a url", "http://169.254.169.254/token"):
        registry.challenge = f'Bearer realm="{realm}",service="outside"'
        assert await code_of(registry, credential=OURS) == "registry_not_allowed"
    assert other.seen == []


@pytest.mark.parametrize("said", [b"", b"[]", b'{"token": 5}', b'{"token": "two\\nlines"}', b"x" * 100_000])
async def test_a_token_service_that_talks_nonsense_opens_nothing(
    registry: FaultyRegistry, other: FaultyRegistry, said: bytes
) -> None:
    registry.challenge = f'Bearer realm="http://{other.address}/token"'
    other.replies["/token"] = answer(200, said)
    assert await code_of(registry, other) in ("registry_denied", "artifact_invalid")


async def test_a_name_that_leads_to_a_private_address_is_refused_unless_the_network_is_named(
    registry: FaultyRegistry,
) -> None:
    registry.address = registry.address.replace("127.0.0.1", "localhost")
    assert await code_of(registry) == "registry_not_allowed"
    assert registry.seen == []
    assert (await read(registry, networks="127.0.0.0/8,::1")).size_bytes > 20_000


@pytest.fixture
async def hurried(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Platform]:
    monkeypatch.setattr(external_images, "CHECK_SECONDS", 1.0)
    async with running_platform(settings) as platform:
        yield platform


async def test_a_registry_that_sends_a_byte_now_and_then_is_away(hurried: Platform, registry: FaultyRegistry) -> None:
    ended = asyncio.Event()

    def trickle(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "100000")
        request.end_headers()
        while not ended.is_set():
            request.wfile.write(b" ")
            time.sleep(0.05)

    registry.replies[MANIFEST] = trickle
    hurried.settings = hurried.settings.model_copy(update={"external_registries": f"http://{registry.address}"})
    image = ExternalImage(registry.address, REPOSITORY, IMAGE.digest, None)
    with pytest.raises(Problem) as late:
        async with external_registry(hurried, image) as opened:
            await check_external(opened, hurried.settings, image)
    ended.set()
    assert late.value.code == "registry_unavailable"


def index_of(image: SmallImage) -> bytes:
    """An index that names more manifests than anybody has."""
    named = {"mediaType": "application/vnd.oci.image.manifest.v1+json", "size": 1, "digest": image.digest}
    return json.dumps(
        {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [named] * 1001}
    ).encode()


async def test_an_index_with_too_many_parts_is_refused(registry: FaultyRegistry) -> None:
    raw = index_of(IMAGE)
    path = f"/v2/{REPOSITORY}/manifests/{digest_of(raw)}"
    registry.content[path] = "application/vnd.oci.image.index.v1+json", raw
    transport = ExternalTransport(AllowedHosts(f"http://{registry.address}"), registry.address, None)
    with pytest.raises(Problem) as refused:
        await Registry(transport).read_image(REPOSITORY, digest_of(raw))
    assert refused.value.code == "artifact_invalid"
