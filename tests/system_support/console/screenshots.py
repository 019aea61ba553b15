"""Take a picture of every page of the console, light and dark, into docs/images/console: `make screenshots`.

A real platform with a simulated fleet, and Debian's Chromium.
"""

from playwright.sync_api import Browser

from gpuaas_sdk.testing import RunningServer
from system_support.console.browser import chromium, visitor
from system_support.console.sample_cloud import SampleCloud, sample_cloud
from system_support.documents import REPOSITORY

LATER = 400  # milliseconds, for what begins to load when the rest is there
PICTURES = REPOSITORY / "docs/images/console"


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    with (
        RunningServer.start(login_rate_per_minute="1000") as server,
        sample_cloud(server) as cloud,
        chromium() as browser,
    ):
        for dark in (False, True):
            take(browser, cloud, dark)
    total = sum(path.stat().st_size for path in PICTURES.glob("*.png"))
    print(f"{len(list(PICTURES.glob('*.png')))} pictures, {total / 1e6:.1f} MB, in {PICTURES.relative_to(REPOSITORY)}")


def take(browser: Browser, cloud: SampleCloud, dark: bool) -> None:
    theme = "dark" if dark else "light"
    for who, routes in (("project_admin", cloud.routes()), ("operator", cloud.operator_routes())):
        with visitor(browser, cloud.url, dark=dark) as person:
            if who == "project_admin":
                person.page.goto(f"{cloud.url}/login")
                person.page.get_by_role("heading", level=1).wait_for()
                for image in person.page.locator("img").all():
                    image.evaluate("(one) => one.decode()")
                person.page.screenshot(path=PICTURES / f"login-{theme}.png")
            person.log_in(cloud.people[who])
            for name, path in routes.items():
                person.visit(path)
                person.page.wait_for_timeout(LATER)
                person.settle()
                person.page.screenshot(path=PICTURES / f"{name}-{theme}.png")


if __name__ == "__main__":
    main()
