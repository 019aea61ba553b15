"""Waits, on the controller's host, until the cluster counts on a node; one that is out of use is put into use.

{"node", "seconds"} -> {"joined": bool, "seen"}: what was last seen of it.
"""

import json
import re
import subprocess
import sys
import time

USABLE = {"IDLE", "MIXED", "ALLOCATED"}
WRONG = {"DRAIN", "NOT_RESPONDING", "FAIL", "INVALID_REG", "MAINTENANCE"}


def scontrol(*arguments):
    return subprocess.run(["scontrol", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout


def look(node):
    """Its state, the state's flags, and why it has them; nothing of a node that has not come."""
    shown = scontrol("-o", "show", "node", node)
    found = re.search(r" State=(\S+)", shown)
    if found is None:
        return "", set(), ""
    state, *flags = found[1].split("+")
    if state.endswith("*"):
        flags.append("NOT_RESPONDING")
    reason = re.search(r" Reason=(.*?)(?: \[|$)", shown.strip())
    return state.rstrip("*"), set(flags), reason[1] if reason else ""


told = json.load(sys.stdin)
node, deadline = told["node"], time.monotonic() + told["seconds"]
joined, seen = False, "it has not come"
while not joined and time.monotonic() < deadline:
    state, flags, reason = look(node)
    joined = state in USABLE and not flags & WRONG
    if state:
        seen = " ".join(part for part in (state, *sorted(flags - {"DYNAMIC_NORM"}), reason) if part)
    if "DRAIN" in flags or state == "DOWN":  # of a node that works it would be an error
        scontrol("update", f"nodename={node}", "state=resume")
    if not joined:
        time.sleep(0.1)
json.dump({"joined": joined, "seen": seen}, sys.stdout)
