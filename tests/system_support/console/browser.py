"""A person in front of the console, in Debian's Chromium. Whatever the browser complains about meanwhile is kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect, sync_playwright

from gpuaas_sdk import PasswordCredentials

CHROMIUM = Path("/usr/bin/chromium")
ALONE = Path(__file__).with_name("chromium")  # the same, in a network of its own: see own_network.py
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
TIMEOUT_MS = 60_000.0  # milliseconds; a guard against hanging, not a promise
SHELL = "#main"  # what is behind the login
NOBODY_YET = "/api/v1/auth/session"  # whoever comes is asked for first, and 401 is the answer


expect.set_options(timeout=TIMEOUT_MS)


@contextmanager
def chromium(program: Path = ALONE) -> Iterator[Browser]:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visitor:
    """`with visitor(browser, url) as mia: mia.log_in(…); mia.visit("/workloads")`."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)

    def log_in(self, who: PasswordCredentials) -> None:
        grant = who.grant()
        self.page.goto(f"{self.url}/login")
        self.page.get_by_label("E-mail").fill(grant["username"])
        self.page.get_by_label("Password", exact=True).fill(grant["password"])
        self.page.get_by_role("button", name="Log in").click()
        expect(self.page.locator(SHELL)).to_be_visible()

    def visit(self, path: str) -> None:
        """By its address, as from a link that somebody sent, until everything on it has come."""
        self.page.goto(f"{self.url}{path}")
        self.settle()

    def settle(self) -> None:
        """The page has a title, and waits for nothing any more."""
        expect(self.page.locator(f"{SHELL} h1").first).to_be_visible()
        expect(self.page.locator(f"{SHELL} .mantine-Loader-root:visible")).to_have_count(0)

    def sees(self, text: str, seconds: float = TIMEOUT_MS / 1000) -> None:
        expect(self.page.locator("main").get_by_text(text).first).to_be_visible(timeout=seconds * 1000)

    def button(self, action: str) -> Locator:
        """By the name of the operation behind it."""
        return self.page.locator(f'[data-action="{action}"]').first

    def offered(self) -> set[str]:
        """The actions on the page, those in its menus too."""
        found: set[str] = set()
        menus = self.page.locator('main button[aria-haspopup="menu"]')
        for number in range(menus.count()):
            menus.nth(number).click()
            opened = self.page.get_by_role("menu")
            expect(opened.get_by_role("menuitem").first).to_be_visible()
            found |= self._actions()
            self.page.keyboard.press("Escape")
            expect(opened).to_have_count(0)
        return found | self._actions()

    def _actions(self) -> set[str]:
        shown = self.page.locator("[data-action]")
        return {str(shown.nth(number).get_attribute("data-action")) for number in range(shown.count())}

    def begin(self, action: str, within: Locator | None = None) -> Locator:
        """Press the button, wherever it is, and get the dialog that it opens."""
        scope = within or self.page.locator("main")
        button = scope.locator(f'[data-action="{action}"]').first
        menu = scope.locator('button[aria-haspopup="menu"]').first
        expect(button.or_(menu).first).to_be_visible()
        if not button.is_visible():
            menu.click()
            button = self.page.get_by_role("menu").locator(f'[data-action="{action}"]')
        button.click()
        dialog = self.page.get_by_role("dialog")
        expect(dialog).to_be_visible()
        return dialog

    def act(self, action: str, name: str, within: Locator | None = None) -> None:
        """The whole of it: the dialog, and the name where it asks for one."""
        dialog = self.begin(action, within)
        if dialog.locator("[data-confirm]").count():
            dialog.locator("[data-confirm]").fill(name)
        dialog.locator("[data-submit]").click()
        expect(dialog).to_have_count(0)


@contextmanager
def visitor(
    browser: Browser, url: str, *, dark: bool = False, width: int = 1280, height: int = 800
) -> Iterator[Visitor]:
    """In a profile of its own, with nothing from before."""
    with browser.new_context(
        color_scheme="dark" if dark else "light",
        viewport={"width": width, "height": height},
        reduced_motion="reduce",
        locale="en-GB",
    ) as context:
        context.set_default_timeout(TIMEOUT_MS)
        made = Visitor(context.new_page(), url)
        made.page.on("console", lambda message: _note(made, message))
        made.page.on("pageerror", lambda error: made.complaints.append(f"error on the page: {error}"))
        yield made


def _note(made: Visitor, message: ConsoleMessage) -> None:
    """Content that the policy forbids is reported in this way, too."""
    where = message.location.get("url", "")
    if message.type not in ("error", "warning") or (NOBODY_YET in where and "401" in message.text):
        return
    made.complaints.append(f"{message.type}: {message.text} ({where})")
