"""The console in Chromium: what a first visit loads, how soon a list of ten thousand is there, and how it scrolls."""

import gzip
import re
import time
from statistics import median

import httpx
from playwright.sync_api import Browser, Page

from benchmarks.crowd import QUIET, Crowd, Project, crowd
from benchmarks.figures import Figure, Series, Size
from gpuaas_sdk import PasswordCredentials
from gpuaas_sdk.testing import Sandbox
from system_support.console.browser import Visitor, chromium, visitor
from system_support.documents import REPOSITORY

LISTS = 20  # of the API alone, for a median
HOW = f"""\
The built console, served by a real server with 10,000 instances (the same project as in `instances`), in Debian's Chromium
without a window or a GPU, on the same machine. Initial JavaScript: the scripts that index.html names, gzipped. First view:
from the navigation to the first row of `/workloads` on the screen, in a profile with a session and an empty cache, less
what the API alone needs for the same page of the list (median of {LISTS}); a figure is the median of the rounds. Scrolling: all
rows are in the table (sorted by name, which loads them); at each animation frame it is scrolled by 400 px, which is
nine rows; the frames in a second against those of an empty page that is scrolled in the same way in the same round."""
DIST = REPOSITORY / "console/dist"
BUDGET_KB = 250
FIRST_VIEW_MS = 1000
FRAMES = 0.8
_FIRST_ROW = """
window.firstRow = new Promise((resolve) => {
  const look = () => {
    if (document.querySelector('main [role="row"][data-index]')) resolve(performance.now());
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
});
"""
_SCROLL = """async ([selector, seconds]) => {
  const box = document.querySelector(selector);
  const frames = [];
  let last = performance.now();
  const end = last + seconds * 1000;
  while (last < end) {
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - last);
    last = now;
    box.scrollTop += 400;
    if (box.scrollTop + box.clientHeight >= box.scrollHeight - 1) box.scrollTop = 0;
  }
  return frames;
}"""
_EMPTY = '<div id="box" style="height: 600px; overflow: auto"><div style="height: 450000px"></div></div>'


def initial_kilobytes() -> float:
    """As `index.html` names them: the entry, and what it cannot begin without."""
    page = (DIST / "index.html").read_text()
    scripts = set(re.findall(r'(?:src|href)="/(assets/[^"]+\.js)"', page))
    return sum(len(gzip.compress((DIST / script).read_bytes(), 9)) for script in scripts) / 1000


def first_view(browser: Browser, site: Crowd, project: Project, who: PasswordCredentials) -> float:
    """Milliseconds until the first row, for somebody who is logged in."""
    with visitor(browser, site.server.url) as made:
        made.log_in(who)
        made.page.context.new_cdp_session(made.page).send("Network.clearBrowserCache")
        made.page.add_init_script(_FIRST_ROW)
        made.page.goto(f"{site.server.url}/workloads?project={project.id}")
        return float(made.page.evaluate("window.firstRow"))


def list_alone(site: Crowd, project: Project) -> float:
    """Milliseconds of the API for the same page of the list."""
    taken = []
    with httpx.Client(base_url=site.server.url, headers={"Authorization": f"Bearer {site.token}"}) as client:
        for _ in range(LISTS):
            begun = time.perf_counter()
            client.get(f"/api/v1/projects/{project.id}/instances", params={"limit": 100}).raise_for_status()
            taken.append((time.perf_counter() - begun) * 1000)
    return median(taken)


def load_all(made: Visitor, project: Project, rows: int) -> None:
    made.visit(f"/workloads?project={project.id}")
    made.page.get_by_role("button", name="Name").click()
    made.page.get_by_text(re.compile(rf"^{rows}$")).wait_for(timeout=120_000)


def frames(page: Page, selector: str, seconds: float) -> list[float]:
    found: list[float] = page.evaluate(_SCROLL, [selector, seconds])
    return found


def measured(size: Size) -> Series:
    series = Series()
    with crowd(size.instances) as site, chromium() as browser:
        project = site.crowded or site.quiet
        admin = site.server.admin()
        home = Sandbox(site.server, admin, admin.projects.show(project.id).tenant_id, project.id)
        who = home.credentials("project_member")
        for _ in range(size.rounds):
            series.add("api", list_alone(site, project))
            series.add("view", first_view(browser, site, project, who))
        with visitor(browser, site.server.url) as made:
            made.log_in(who)
            load_all(made, project, size.instances - QUIET)
            empty = made.page.context.new_page()
            empty.set_content(_EMPTY)
            for _ in range(size.rounds):
                for name, page, selector in (
                    ("rows", made.page, 'main [role="region"]'),
                    ("empty", empty, "#box"),
                ):
                    page.bring_to_front()
                    seen = frames(page, selector, min(size.seconds, 3.0))
                    series.add(f"{name}/rate", 1000 * len(seen) / sum(seen))
                    series.add(f"{name}/longest", max(seen))
    return series


def run(size: Size) -> list[Figure]:
    series = measured(size)
    api, view = series.median("api"), series.median("view")
    rows, empty = series.median("rows/rate"), series.median("empty/rate")
    longest = f"longest {series.median('rows/longest'):.0f} ms against {series.median('empty/longest'):.0f} ms"
    shown = f"{size.instances:,} instances"
    return [
        Figure("initial JavaScript of the console, gzipped", initial_kilobytes(), "kB", BUDGET_KB, at_least=False),
        Figure(
            f"first view of /workloads with {shown}, beyond the API's own time",
            view - api,
            "ms",
            FIRST_VIEW_MS,
            at_least=False,
            note=f"{view:.0f} ms to the first row, the list alone {api:.1f} ms",
        ),
        Figure(
            f"frames while {shown} scroll, against an empty page",
            series.ratio("rows/rate", "empty/rate"),
            "×",
            FRAMES,
            note=f"{rows:.0f}/s against {empty:.0f}/s; {longest}",
        ),
    ]
