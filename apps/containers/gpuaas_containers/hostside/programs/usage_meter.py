"""Counts for one container how long it ran and how much its own counters grew, and asks it for its version. Run by its unit
and by a timer, as root.

What it knows is in its state, which is written first. The counts follow from it, in a file that the controller reads. Times
are systemd's own record of the unit. Each argument is a path: of the settings, and of the program of the engine.
"""

import fcntl
import http.client
import json
import math
import os
import re
import signal
import subprocess
import sys
import time

SECONDS = 10  # for all of it
MOST_PAGE, MOST_SAMPLES, MOST_LINE = 4 << 20, 2000, 8 << 10
MOST_VALUE = 2**53
PROPERTIES = ("ActiveState", "ActiveEnterTimestampMonotonic", "ExecMainExitTimestampMonotonic")
RUNNING = ("active", "reloading", "deactivating")
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?[ \t]+([^\s]+)(?:[ \t]+-?[0-9]+)?")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"[ \t]*(?:,[ \t]*|$)')
VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z._+~:-]{0,63}")  # as host_units.py accepts it of an image
ESCAPED = {"n": "\n"}
NO_COUNTERS = ("gauge", "histogram", "summary")


class PageRefused(Exception):
    """Raised for a page that is too long or cannot be read."""


def new_state(now):
    return {
        "since": now,
        "run": None,
        "ended": False,
        "run_us": 0,
        "earlier_us": 0,
        "totals": {},
        "series": {},
        "address": None,
        "version": None,
    }


def note_run(state, shown, boot, now_us):
    """Add what systemd says of the unit. A run begins when the unit becomes active and ends when its main process ends."""
    entered = int(shown.get("ActiveEnterTimestampMonotonic") or 0)
    exited = int(shown.get("ExecMainExitTimestampMonotonic") or 0)
    if not entered:
        return state
    run = f"{boot}/{entered}"
    if run != state["run"]:
        earlier = state["earlier_us"] + state["run_us"]
        state = {**state, "run": run, "ended": False, "run_us": 0, "earlier_us": earlier, "series": {}, "address": None}
        state["version"] = None
    if state["ended"]:  # what the main process of a later attempt to start did is not of this run
        return state
    ended = exited >= entered
    if ended or shown["ActiveState"] in RUNNING:
        ran = max(state["run_us"], (exited if ended else now_us) - entered)
        state = {**state, "run_us": ran, "ended": ended}
    return state


def note_samples(state, counters, samples):
    """Add how much each series grew. One that is less than before began again; one that is new began with the run."""
    totals, series = dict(state["totals"]), dict(state["series"])
    for counter in counters:
        for name, labels, value in samples:
            if name != counter["metric"] or any(labels.get(key) != text for key, text in counter["labels"].items()):
                continue
            key = json.dumps([counter["key"], sorted(labels.items())])
            before = series.get(key, 0.0)
            grown = value - before if value >= before else value
            totals[counter["key"]] = min(totals.get(counter["key"], 0.0) + grown, float(MOST_VALUE))
            series[key] = value
    if len(series) > MOST_SAMPLES:
        raise PageRefused("there are too many series")
    return {**state, "totals": totals, "series": series}


def counts_of(state, member_id, counters):
    """Return what the controller reads: whole units. A fraction stays in the state."""
    values = {"container_seconds": (state["earlier_us"] + state["run_us"]) // 1_000_000}
    values.update((one["key"], int(state["totals"].get(one["key"], 0.0))) for one in counters)
    version = state.get("version")
    said = {} if version is None else {"runtime_version": version}
    return {"member_id": member_id, "since": state["since"], "values": values, **said}


def parse_page(text, wanted):
    """Returns the samples of the wanted names: counters, or of no said type; a value that cannot be a count is left out."""
    found, kinds = [], {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            words = line.split()
            if len(words) == 4 and words[2] in wanted:
                kinds[words[2]] = words[3]
        elif line.startswith(tuple(wanted)) and len(line) <= MOST_LINE:
            sample = parse_sample(line)
            if sample is not None and sample[0] in wanted:
                found.append(sample)
                if len(found) > MOST_SAMPLES:
                    raise PageRefused("there are too many samples")
    return [one for one in found if kinds.get(one[0]) not in NO_COUNTERS]


def parse_sample(line):
    parts = SAMPLE.fullmatch(line.strip())
    if parts is None:
        return None
    name, inside, number = parts.groups()
    labels, at = {}, 0
    while inside and at < len(inside):
        label = LABEL.match(inside, at)
        if label is None:
            return None
        labels[label[1]] = re.sub(r"\\(.)", lambda one: ESCAPED.get(one[1], one[1]), label[2])
        at = label.end()
    try:
        value = float(number)
    except ValueError:
        return None
    return (name, labels, value) if math.isfinite(value) and 0 <= value <= MOST_VALUE else None


def fetch_page(address, port, path):
    connection = http.client.HTTPConnection(address, port, timeout=5)
    try:
        connection.request("GET", path, headers={"Accept": "text/plain", "Connection": "close"})
        response = connection.getresponse()
        if response.status != 200:
            raise PageRefused(f"the status is {response.status}")
        content = response.read(MOST_PAGE + 1)
        if len(content) > MOST_PAGE:
            raise PageRefused("the page is too long")
        return content.decode(errors="replace")
    finally:
        connection.close()


def note_version(state, page, address):
    """Ask what runs for its version, once in each run. What is no version says nothing."""
    try:
        text = fetch_page(address, page["port"], page["path"])
        said = text if page["field"] is None else json.loads(text)[page["field"]]
    except (
        OSError,
        http.client.HTTPException,
        PageRefused,
        ValueError,
        LookupError,
        TypeError,
        RecursionError,
    ) as error:
        print(f"port {page['port']}{page['path']} says no version: {error or type(error).__name__}", file=sys.stderr)
        return state
    said = said.strip() if isinstance(said, str) else ""
    return {**state, "version": said} if VERSION.fullmatch(said) else state


def note_pages(state, settings, engine):
    """Read each page once. One that cannot be read leaves its counters as they are; the next time may be better."""
    address = state["address"] or find_address(engine, settings["container"])
    if not address:
        return state
    state = {**state, "address": address}
    if settings.get("version_page") and state.get("version") is None:
        state = note_version(state, settings["version_page"], address)
    pages = {}
    for counter in settings["counters"]:
        pages.setdefault((counter["port"], counter["path"]), []).append(counter)
    for (port, path), counters in pages.items():
        try:
            samples = parse_page(fetch_page(address, port, path), {one["metric"] for one in counters})
            state = note_samples(state, counters, samples)
        except (OSError, http.client.HTTPException, PageRefused, ValueError) as error:
            print(f"port {port}{path} was not read: {error or type(error).__name__}", file=sys.stderr)
    return state


def find_address(engine, container):
    form = "--format={{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}"
    words = [engine, "container", "inspect", form, container]
    shown = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    found = shown.stdout.split() if shown.returncode == 0 else []
    return found[0] if found else None


def show_unit(unit):
    words = ["systemctl", "show", "--property=" + ",".join(PROPERTIES), unit]
    shown = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return dict(line.partition("=")[::2] for line in shown.stdout.splitlines())


def write(path, document, mode):
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    temporary = f"{path}.new"
    with open(temporary, "w") as file:
        file.write(json.dumps(document) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.chmod(temporary, mode)
    os.replace(temporary, path)


def read_state(path, now):
    try:
        with open(path) as file:
            return json.load(file)
    except (FileNotFoundError, ValueError):
        return new_state(now)


def main(settings_path, engine):
    signal.alarm(SECONDS)  # a page that never ends ends here, and with it this attempt
    with open(settings_path) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        settings = json.load(file)
        with open("/proc/sys/kernel/random/boot_id") as boot_file:
            boot = boot_file.read().strip()
        state = read_state(settings["state"], time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()))
        shown = show_unit(settings["unit"])
        state = note_run(state, shown, boot, time.monotonic_ns() // 1000)
        write(settings["state"], state, 0o600)  # whatever its pages do, how long it ran is kept
        if (
            (settings["counters"] or settings.get("version_page"))
            and shown.get("ActiveState") in RUNNING
            and not state["ended"]
        ):
            write(settings["counts"], counts_of(state, settings["member_id"], settings["counters"]), 0o644)
            state = note_pages(state, settings, engine)
            write(settings["state"], state, 0o600)
        write(settings["counts"], counts_of(state, settings["member_id"], settings["counters"]), 0o644)


if __name__ == "__main__":
    main(*sys.argv[1:])
