"""The built console over HTTP: only its own files, kept by browsers as long as they are good, under a strict policy."""

import gzip
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from gpuaas_server.app import build_app
from gpuaas_server.console.files import read_console
from gpuaas_server.console.route import OTHERS
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.settings import Settings

SCRIPT = b"console.log('the console');\n" * 60
PAGE = '<!doctype html><meta name="csp-nonce" content="__CSP_NONCE__"><script src="/assets/app-1a2b.js"></script>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What a build leaves, and beside it what it must not give away."""
    dist = tmp_path / "dist"
    (dist / "assets").mkdir(parents=True)
    (dist / "index.html").write_text(PAGE)
    (dist / "favicon.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    (dist / "assets" / "app-1a2b.js").write_bytes(SCRIPT)
    (dist / "assets" / "app-1a2b.js.gz").write_bytes(gzip.compress(SCRIPT))
    (dist / "assets" / "app-1a2b.js.br").write_bytes(b"as if it were brotli")
    (dist / "assets" / "style-9f.css").write_text("body { margin: 0 }")
    (dist / ".vite").mkdir()
    (dist / ".vite" / "manifest.json").write_text("{}")
    (tmp_path / "secret.txt").write_text("not for you")
    (dist / "way-out.txt").symlink_to(tmp_path / "secret.txt")
    return dist


def serve(platform: Platform, folder: Path) -> httpx.AsyncClient:
    """The whole application: what is the console's is decided by what is not somebody else's."""
    platform.settings = platform.settings.model_copy(update={"console_dir": folder})
    transport = httpx.ASGITransport(app=build_app(platform))
    return httpx.AsyncClient(transport=transport, base_url="http://test")


@pytest.fixture
async def browser(platform: Platform, folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with serve(platform, folder) as client:
        yield client


@pytest.mark.parametrize(
    "path", ["/", "/login", "/workloads", "/workloads/ins_0", "/ops/nodes/", "/index.html", "/a?b=c.d"]
)
async def test_every_page_is_the_consoles_one_page(browser: httpx.AsyncClient, path: str) -> None:
    answer = await browser.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert 'src="/assets/app-1a2b.js"' in answer.text
    assert answer.headers["cache-control"] == "no-store"


async def test_the_page_has_a_policy_with_a_nonce_of_its_own_each_time(browser: httpx.AsyncClient) -> None:
    nonces = []
    for _ in range(2):
        answer = await browser.get("/")
        [nonce] = re.findall(r'name="csp-nonce" content="([A-Za-z0-9_-]{20,})"', answer.text)
        assert answer.headers["content-security-policy"] == (
            f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:;"
            " font-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
        )
        nonces.append(nonce)
    assert nonces[0] != nonces[1]


@pytest.mark.parametrize("path", ["/", "/assets/app-1a2b.js", "/favicon.svg"])
async def test_pages_and_files_carry_the_usual_safeguards(browser: httpx.AsyncClient, path: str) -> None:
    headers = (await browser.get(path)).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]
    assert headers["x-frame-options"] == "DENY"
    assert "default-src 'none'" in headers["content-security-policy"]


async def test_a_hashed_file_is_kept_for_ever_and_others_are_asked_for_again(browser: httpx.AsyncClient) -> None:
    hashed, plain = await browser.get("/assets/app-1a2b.js"), await browser.get("/favicon.svg")
    assert hashed.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert plain.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("/assets/app-1a2b.js", "text/javascript; charset=utf-8"),
        ("/assets/style-9f.css", "text/css; charset=utf-8"),
        ("/favicon.svg", "image/svg+xml"),
    ],
)
async def test_a_file_says_what_it_is(browser: httpx.AsyncClient, path: str, media_type: str) -> None:
    assert (await browser.get(path)).headers["content-type"] == media_type


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br", "br"),
        ("gzip", "gzip"),
        ("GZIP;q=0.5", "gzip"),
        ("br;q=0, gzip", "gzip"),
        ("br; q=0.0, gzip;q=0", ""),
        ("*", "br"),
        ("identity", ""),
        ("", ""),
    ],
)
async def test_what_was_compressed_beforehand_is_sent_where_it_is_accepted(
    browser: httpx.AsyncClient, folder: Path, accepted: str, encoding: str
) -> None:
    request = browser.build_request("GET", "/assets/app-1a2b.js", headers={"Accept-Encoding": accepted})
    answer = await browser.send(request, stream=True)
    raw = b"".join([part async for part in answer.aiter_raw()])
    beside = {"br": ".br", "gzip": ".gz", "": ""}[encoding]
    assert answer.headers.get("content-encoding", "") == encoding
    assert raw == (folder / "assets" / f"app-1a2b.js{beside}").read_bytes()
    assert "Accept-Encoding" in answer.headers["vary"]


async def test_each_encoding_has_an_etag_and_a_request_with_it_gets_no_body(browser: httpx.AsyncClient) -> None:
    tags = set()
    for accepted in ("gzip", "identity"):
        asked = {"Accept-Encoding": accepted}
        tag = (await browser.get("/assets/app-1a2b.js", headers=asked)).headers["etag"]
        again = await browser.get("/assets/app-1a2b.js", headers={**asked, "If-None-Match": f'"other", W/{tag}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert again.headers["cache-control"].endswith("immutable")
        tags.add(tag)
    assert len(tags) == 2
    changed = await browser.get("/assets/app-1a2b.js", headers={"If-None-Match": '"other"'})
    assert changed.status_code == 200


async def test_only_reading_is_offered(browser: httpx.AsyncClient) -> None:
    head = await browser.head("/assets/style-9f.css")
    assert (head.status_code, head.headers["content-length"]) == (200, "18")
    refused = await browser.post("/login")
    assert (refused.status_code, refused.json()["code"], refused.headers["allow"]) == (405, "method_not_allowed", "GET")


@pytest.mark.parametrize(
    "path",
    [
        "/assets/gone-1a2b.js",
        "/assets/app-1a2b.js.gz",
        "/assets/app-1a2b.js.br",
        "/.vite/manifest.json",
        "/way-out.txt",
        "/secret.txt",
        "/../secret.txt",
        "/assets/../../secret.txt",
        "/assets/..%2f..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/assets/%00.js",
        "//secret.txt",
    ],
)
async def test_nothing_else_than_the_built_files_can_be_had(browser: httpx.AsyncClient, path: str) -> None:
    # As a client that does not tidy its paths sends it.
    url = httpx.URL("http://test").copy_with(raw_path=path.encode())
    answer = await browser.send(httpx.Request("GET", url))
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert "not for you" not in answer.text


@pytest.mark.parametrize("place", OTHERS)
async def test_unknown_paths_of_the_api_stay_unknown(browser: httpx.AsyncClient, place: str) -> None:
    for method in ("GET", "POST"):
        answer = await browser.request(method, f"{place}/no-such-thing")
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


async def test_an_answer_of_the_api_is_never_a_page(browser: httpx.AsyncClient) -> None:
    answer = await browser.get("/api/v1/me")
    assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'; sandbox"


async def test_where_the_console_is_not_built_a_page_says_how_to(platform: Platform, tmp_path: Path) -> None:
    async with serve(platform, tmp_path / "nothing") as browser:
        answer = await browser.get("/workloads")
        assert (answer.status_code, answer.headers["content-type"]) == (503, "text/html; charset=utf-8")
        assert "make console" in answer.text
        assert (await browser.get("/assets/app.js")).status_code == 404
        assert (await browser.get("/healthz")).status_code == 200


def test_files_are_read_once_and_not_with_every_request(folder: Path) -> None:
    before = read_console(folder)
    (folder / "index.html").write_text("changed")
    assert read_console(folder) is before


def test_the_folder_is_the_checkouts_unless_a_setting_says_otherwise(tmp_path: Path) -> None:
    from gpuaas_server.console.route import OF_THE_CHECKOUT, console_folder

    url = SecretStr("postgresql://")
    assert console_folder(Settings(database_url=url)) == OF_THE_CHECKOUT
    assert OF_THE_CHECKOUT.parts[-2:] == ("console", "dist")
    assert console_folder(Settings(database_url=url, console_dir=tmp_path)) == tmp_path
