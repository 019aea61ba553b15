"""Waits on the head node until nodes are usable in the cluster. It resumes nodes that are drained or down.

{"nodes": [name], "seconds"} -> {"joined": [name], "seen": {name: last known state}}
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


def read_state(node):
    """Returns the node's state, flags and reason; all empty for a node that has not registered."""
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
    """Tells whether the cluster can use the node. Its state is kept in `seen`."""
    state, flags, reason = read_state(node)
    if state:
        seen[node] = " ".join(part for part in (state, *sorted(flags - {"DYNAMIC_NORM"}), reason) if part)
    if "DRAIN" in flags or state == "DOWN":  # Slurm refuses this for a node that works
        scontrol("update", f"nodename={node}", "state=resume")
    return state in USABLE and not flags & WRONG


request = json.load(sys.stdin)
deadline = time.monotonic() + request["seconds"]
seen = dict.fromkeys(request["nodes"], "it has not registered")
joined = [node for node in request["nodes"] if usable(node)]
while len(joined) < len(seen) and time.monotonic() < deadline:
    time.sleep(0.1)
    joined += [node for node in request["nodes"] if node not in joined and usable(node)]
json.dump({"joined": joined, "seen": seen}, sys.stdout)
