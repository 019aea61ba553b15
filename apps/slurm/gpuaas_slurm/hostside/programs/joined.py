"""Waits, on the controller's host, until the cluster counts on some nodes; one that is out of use is put into use.

{"nodes": [name], "seconds"} -> {"joined": [name], "seen": {name: what was last seen of it}}
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


def usable(node):
    """Whether the cluster counts on it; what was seen of it is kept."""
    state, flags, reason = look(node)
    if state:
        seen[node] = " ".join(part for part in (state, *sorted(flags - {"DYNAMIC_NORM"}), reason) if part)
    if "DRAIN" in flags or state == "DOWN":  # of a node that works it would be an error
        scontrol("update", f"nodename={node}", "state=resume")
    return state in USABLE and not flags & WRONG


told = json.load(sys.stdin)
deadline = time.monotonic() + told["seconds"]
seen = dict.fromkeys(told["nodes"], "it has not come")
joined = [node for node in told["nodes"] if usable(node)]
while len(joined) < len(seen) and time.monotonic() < deadline:
    time.sleep(0.1)
    joined += [node for node in told["nodes"] if node not in joined and usable(node)]
json.dump({"joined": joined, "seen": seen}, sys.stdout)
