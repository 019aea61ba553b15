"""A browser on a machine whose interfaces come and go: `python -m … PROGRAM CHANGES` prints what it lost meanwhile, as JSON.

The machine is a network namespace that ends with this process, so that the real one sees nothing of it. A page loads
something all the time, and listens to a stream of events, until something of that is lost or the changes are over.
"""

import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Page

from system_support.console.browser import chromium
from system_support.console.own_network import enter_namespace

TICK = 0.02
PAGE = b"""<!doctype html><meta charset="utf-8"><title>unsteady</title><script>
window.lost = []; window.ticks = 0; window.loads = 0;
const stream = new EventSource('/stream');
stream.onmessage = () => { window.ticks += 1; };
stream.onerror = () => { window.lost.push('the stream'); };
const load = async () => {
  try { await (await fetch('/slow', {cache: 'no-store'})).text(); window.loads += 1; }
  catch (error) { window.lost.push(String(error)); }
  load();
};
for (let one = 0; one < 12; one += 1) load(); // more than a browser opens connections: some wait, and they are the ones dropped
</script>"""
CHANGE = """\
link add passing type veth peer name passing-peer
addr add 10.77.1.254/24 dev passing
link set passing up
link set passing-peer up
"""


class Pages(BaseHTTPRequestHandler):
    """A page, something that is slow to load, and a stream."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        kind = "text/event-stream" if self.path == "/stream" else "text/html"
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        if self.path == "/":
            self.wfile.write(PAGE)
            return
        pieces = 5 if self.path == "/slow" else sys.maxsize
        try:
            for _ in range(pieces):
                self.wfile.write(b"data: tick\n\n")
                time.sleep(TICK)
        except OSError:
            pass

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002
        """Say nothing."""


def change_interfaces() -> None:
    """Let a link with an address come and go, as a fleet's does."""
    subprocess.run(["ip", "-batch", "-"], input=CHANGE, text=True, check=True)
    subprocess.run(["ip", "link", "del", "passing"], check=True)


def observe(page: Page, url: str, changes: int) -> dict[str, object]:
    """Change the interfaces, each time while something is under way, until something is lost or all changes are done."""
    failures: list[str] = []
    page.on("requestfailed", lambda request: failures.append(str(request.failure)))
    page.goto(url)
    page.wait_for_function("window.ticks > 0 && window.loads > 0")
    done = 0
    while done < changes and not page.evaluate("window.lost.length"):
        ticks = page.evaluate("window.ticks")
        change_interfaces()
        done += 1
        page.wait_for_function(f"window.ticks > {ticks} || window.lost.length")
    return {"changes": done, "lost": page.evaluate("window.lost"), "failures": failures}


def main(program: str, changes: str) -> None:
    enter_namespace()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with chromium(Path(program)) as browser:
        print(json.dumps(observe(browser.new_page(), f"http://127.0.0.1:{server.server_address[1]}/", int(changes))))


if __name__ == "__main__":
    main(*sys.argv[1:])
