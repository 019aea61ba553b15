"""The browser of these tests has a network of its own: what happens on the machine beside it does not reach it."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from system_support.console.browser import ALONE, CHROMIUM, FLAGS
from system_support.console.requirements import require_browser
from system_support.documents import REPOSITORY

pytestmark = pytest.mark.timeout(300)
CHANGES = 60
HANG = 60.0  # seconds, after which nobody waits any more
ENTER = "from system_support.console.own_network import enter_namespace; enter_namespace()"


def python(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=REPOSITORY / "tests", capture_output=True, text=True, check=False)


@pytest.fixture(scope="module", autouse=True)
def namespaces() -> None:
    """On a machine that gives none, tests run with the plain browser; CI must have them."""
    require_browser()
    tried = python("-c", ENTER)
    if tried.returncode != 0:
        said = f"no network namespace is to be had here: {tried.stderr.strip().splitlines()[-1]}"
        pytest.fail(said) if os.environ.get("CI") else pytest.skip(said)


def lost_on_an_unsteady_machine(browser: Path) -> dict[str, Any]:
    ran = python("-m", "system_support.console.unsteady_machine", str(browser), str(CHANGES))
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def test_a_browser_loses_nothing_when_interfaces_of_the_machine_come_and_go() -> None:
    assert lost_on_an_unsteady_machine(ALONE) == {"changes": CHANGES, "lost": [], "failures": []}


def test_without_a_network_of_its_own_it_does() -> None:
    plain = lost_on_an_unsteady_machine(CHROMIUM)
    assert "net::ERR_NETWORK_CHANGED" in plain["failures"]


def test_a_browser_that_is_killed_leaves_no_process_behind(tmp_path: Path) -> None:
    flags = [*FLAGS, "--headless", "--remote-debugging-port=0", f"--user-data-dir={tmp_path}", "about:blank"]
    with subprocess.Popen([ALONE, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
        wait_until((tmp_path / "DevToolsActivePort").exists)
        family = descendants(browser.pid)
        relays = [pid for pid in family if "own_network" in command_of(pid)]
        assert len(relays) == 1
        browser.send_signal(signal.SIGKILL)
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in family))


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + HANG
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def descendants(pid: int) -> list[int]:
    """Of one process, however far."""
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in thread.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *descendants(child)]
    return found
