"""Waits, on the controller's host, until nothing runs on a node any more: no job, and none that is still ending.

{"node", "seconds"} -> {"quiet": bool}. A node that the cluster does not know is quiet.
"""

import json
import subprocess
import sys
import time

# Not COMPLETING: of that the node's own state tells. A job may be completing for ever on another node that is gone.
RUNNING = "RUNNING,SUSPENDED,CONFIGURING,STOPPED"
BUSY = {"allocated", "mixed", "completing", "draining"}


def said(*argv):
    shown = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if shown.returncode != 0:  # a controller that does not answer says nothing of its nodes
        sys.exit(f"{argv[0]}: {(shown.stderr or shown.stdout).strip()[-200:]}")
    return shown.stdout.split()


def quiet(node):
    shown = said("sinfo", "-h", "-N", "-n", node, "-o", "%T %C")
    for state, cpus in zip(shown[::2], shown[1::2], strict=True):
        if state.rstrip("*~#!%$@^-+") in BUSY or not cpus.startswith("0/"):  # allocated/idle/other/total
            return False
    return not (shown and said("squeue", "-h", "-t", RUNNING, "-w", node, "-o", "%A"))


told = json.load(sys.stdin)
deadline, done = time.monotonic() + told["seconds"], quiet(told["node"])
while not done and time.monotonic() < deadline:
    time.sleep(0.1)
    done = quiet(told["node"])
json.dump({"quiet": done}, sys.stdout)
