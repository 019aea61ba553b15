"""Waits, on the controller's host, until nothing runs on a node any more: no job, and none that is still ending.

{"node", "seconds"} -> {"left": what still keeps it, in words}. A node that the cluster does not know is quiet.
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


def named(node):
    jobs = said("squeue", "-h", "-t", RUNNING, "-w", node, "-o", "%A")
    return f"jobs {', '.join(jobs)}" if jobs else ""


def at_work(node):
    """What still keeps the node, in words; empty when nothing does. How many of its cores are in use would say it too, but
    Slurm counts them at most once a second and may show those of a job that has ended until the next one begins.
    """
    states = said("sinfo", "-h", "-N", "-n", node, "-o", "%T")
    busy = next((state for state in states if state.rstrip("*~#!%$@^-+") in BUSY), "")
    return busy or (named(node) if states else "")


told = json.load(sys.stdin)
deadline, left = time.monotonic() + told["seconds"], at_work(told["node"])
while left and time.monotonic() < deadline:
    time.sleep(0.1)
    left = at_work(told["node"])
if left:  # for who reads it: by which jobs
    left = "; ".join(dict.fromkeys(filter(None, (left, named(told["node"])))))
json.dump({"left": left}, sys.stdout)
