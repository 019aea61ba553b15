"""Runs units with the files that there are now: started when they do not run, restarted when they run with older files.

    {"stamps": folder, "units": [{"name", "files": [path], "listens": port | null, "afresh": bool}]}

What a daemon was started with is written down beside it, so that a crash between a new file and the restart is seen.
"""

import hashlib
import json
import os
import subprocess
import sys
import time

LONGEST = 30.0


def systemctl(*arguments, check=True):
    return subprocess.run(["systemctl", *arguments], capture_output=True, text=True, check=check)


def fingerprint(paths):
    seen = hashlib.sha256()
    for path in paths:
        try:
            with open(path, "rb") as there:
                seen.update(there.read())
        except FileNotFoundError:
            seen.update(b"absent")
    return seen.hexdigest()


def listening(port):
    wanted = f"{port:04X}"
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with open(table) as lines:
            for line in lines:
                words = line.split()
                if len(words) > 3 and words[1].endswith(f":{wanted}") and words[3] == "0A":
                    return True
    return False


def give_up(name, why):
    log = subprocess.run(
        ["journalctl", "-u", name, "-n", "5", "-o", "cat", "--no-pager"], capture_output=True, text=True
    )
    sys.exit(f"{name} {why}: {' / '.join(log.stdout.split(chr(10))).strip()[-240:]}")


def settled(unit):
    """It runs, and answers where it should; a daemon that dies within its first moments is seen."""
    name, deadline = unit["name"], time.monotonic() + LONGEST
    while time.monotonic() < deadline:
        answers = unit.get("listens") is None or listening(unit["listens"])
        state = systemctl("is-active", name, check=False).stdout.strip()
        if state in ("failed", "inactive"):
            give_up(name, f"is {state}")
        if state == "active" and answers:
            return
        time.sleep(0.02)
    give_up(name, "does not come up")


told = json.load(sys.stdin)
os.makedirs(told["stamps"], exist_ok=True)
systemctl("enable", "--quiet", *(unit["name"] for unit in told["units"]))  # it reads the units' files anew, too
restarted = []
for unit in told["units"]:
    name, stamp = unit["name"], os.path.join(told["stamps"], unit["name"])
    now = fingerprint(unit["files"])
    try:
        with open(stamp) as there:
            before = there.read()
    except FileNotFoundError:
        before = ""
    state = systemctl("is-active", name, check=False).stdout.strip()
    if state != "active" or before != now or unit.get("afresh"):
        systemctl("reset-failed", name, check=False)  # also forgets how often it was started lately
        if systemctl("restart", name, check=False).returncode != 0:
            give_up(name, "does not start")
        restarted.append(name)
    settled(unit)
    with open(stamp, "w") as there:
        there.write(now)
json.dump({"restarted": restarted}, sys.stdout)
