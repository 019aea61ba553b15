"""The console's session in a real browser: scripts cannot read it, other pages cannot use it, nothing foreign comes in."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page, expect

from gpuaas_sdk import PasswordCredentials
from gpuaas_sdk.testing import RunningServer
from system_support.console.browser import Visitor, chromium, visitor
from system_support.console.requirements import require_browser

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    require_browser()
    with chromium() as started:
        yield started


@pytest.fixture
def ada(browser: Browser, server: RunningServer) -> Iterator[Visitor]:
    """The platform's administrator, who could do most harm."""
    with visitor(browser, server.url) as made:
        made.log_in(PasswordCredentials(server.admin_email, server.admin_password))
        yield made


@contextmanager
def site(page: str) -> Iterator[tuple[str, list[str]]]:
    """A page on another port of this host: where it is, and what was asked of it.

    To a browser that is the same site, so it does send our cookie along.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Nobody reads it."""

    asked: list[str] = []
    foreign = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=foreign.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{foreign.server_port}", asked
    finally:
        foreign.shutdown()
        foreign.server_close()
        thread.join(10)


def status(page: Page, path: str, **options: object) -> int:
    """What the platform answers to the page's own script."""
    script = "([path, options]) => fetch(path, options).then((answer) => answer.status)"
    found: int = page.evaluate(script, [path, options])
    return found


def test_nothing_that_scripts_can_read_opens_the_api(ada: Visitor, server: RunningServer) -> None:
    assert status(ada.page, "/api/v1/me") == 200
    readable = ada.page.evaluate("JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}])")
    assert "gpuaas_session" not in readable
    assert "gws_" not in readable
    [cookie] = ada.page.context.cookies(server.url)
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == ("gpuaas_session", True, "Strict")
    assert cookie["value"] not in ada.page.content()


def test_a_page_that_is_loaded_again_is_still_signed_in_and_signing_out_ends_it_in_every_tab(ada: Visitor) -> None:
    ada.page.reload()
    second = ada.page.context.new_page()
    second.goto(f"{ada.url}/")
    assert status(second, "/api/v1/me") == 200
    token = second.evaluate("fetch('/api/v1/auth/session').then((a) => a.json()).then((a) => a.csrf_token)")
    assert status(second, "/api/v1/auth/session", method="DELETE", headers={"X-CSRF-Token": token}) == 204
    assert status(ada.page, "/api/v1/me") == 401
    ada.page.goto(f"{ada.url}/workloads")
    expect(ada.page.get_by_label("E-mail")).to_be_visible()
    assert "/login" in ada.page.url


def test_logging_out_leads_to_the_login_and_the_page_before_does_not_break(ada: Visitor) -> None:
    ada.page.get_by_role("button", name="Account of").click()
    ada.page.get_by_role("menuitem", name="Log out").click()
    expect(ada.page.get_by_label("E-mail")).to_be_visible()
    assert status(ada.page, "/api/v1/me") == 401
    assert [complaint for complaint in ada.complaints if "401" not in complaint] == []
    ada.page.goto(f"{ada.url}/workloads")
    expect(ada.page.get_by_label("E-mail")).to_be_visible()


def forged(url: str, slug: str, by: str) -> str:
    """A page that has the visitor's browser ask for a tenant, in the ways that need nobody's leave."""
    body = json.dumps({"slug": slug, "name": "Forged"})
    if by == "form":
        name, _, value = body.partition(":")  # a plain-text form sends name=value: this is JSON with one odd key
        return f"""<form method="post" enctype="text/plain" action="{url}/api/v1/tenants">
            <input name='{name}:"' value='",{value[1:]}'></form><script>document.forms[0].submit()</script>"""
    how = f"{{method: 'POST', mode: 'no-cors', credentials: 'include', body: {body!r}}}"
    return f"<script>fetch('{url}/api/v1/tenants', {how}).finally(() => {{ document.title = 'done' }})</script>"


@pytest.mark.parametrize("by", ["form", "script"])
def test_another_page_cannot_have_the_browser_change_anything(ada: Visitor, server: RunningServer, by: str) -> None:
    admin, slug = server.admin(), f"forged-by-{by}"
    before = {record.id for record in admin.audit.list(action="tenant_create", outcome="denied")}
    with site(forged(server.url, slug, by)) as (foreign, _):
        ada.page.goto(foreign)
        if by == "form":
            ada.page.wait_for_url("**/api/v1/tenants")
            assert "origin_refused" in ada.page.content()
        else:
            expect(ada.page).to_have_title("done")
    denied = [r for r in admin.audit.list(action="tenant_create", outcome="denied") if r.id not in before]
    # Not for want of a session: the browser did send the cookie along.
    assert [record.details["why"] for record in denied] == ["origin_refused"]
    assert slug not in {tenant.slug for tenant in admin.tenants.list()}


def test_a_script_that_got_into_the_page_does_not_run_and_reaches_no_other_host(ada: Visitor) -> None:
    ada.page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.ran = true";
            document.body.append(script);
            const button = document.createElement("div");
            button.setAttribute("onclick", "window.ran = true");
            document.body.append(button);
            button.click();
        }"""
    )
    assert ada.page.evaluate("window.ran === undefined")
    with site("not for pages of ours") as (foreign, asked):
        sent = f"fetch('{foreign}/stolen', {{mode: 'no-cors'}}).then(() => 'sent', () => 'held back')"
        assert ada.page.evaluate(sent) == "held back"
        assert asked == []
    # The browser's complaints come a moment after what they are about.
    deadline = time.monotonic() + 60
    while len(refused_by_policy(ada)) < 3 and time.monotonic() < deadline:
        ada.page.wait_for_timeout(50)
    assert len(refused_by_policy(ada)) >= 3


def refused_by_policy(made: Visitor) -> list[str]:
    return [complaint for complaint in made.complaints if "Content Security Policy" in complaint]


def test_no_page_of_another_site_can_frame_the_console(ada: Visitor) -> None:
    with site(f'<iframe src="{ada.url}/login"></iframe>') as (foreign, _):
        ada.page.goto(foreign)
        ada.page.wait_for_load_state("networkidle")
        assert not any(frame.url.startswith(ada.url) for frame in ada.page.frames)
