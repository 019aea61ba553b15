"""Waits on the head node until a node is idle: no job runs or is still ending on it.

{"node", "seconds"} -> {"left": a description of what still runs}. A node that the cluster does not know is idle.
"""

import json
import subprocess
import sys
import time

# Not COMPLETING: the node's own state shows that. A job may be completing forever on another node that is gone.
RUNNING = "RUNNING,SUSPENDED,CONFIGURING,STOPPED"
BUSY = {"allocated", "mixed", "completing", "draining"}


def output_of(*argv):
    shown = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if shown.returncode != 0:  # without an answer from slurmctld, the state is unknown
        sys.exit(f"{argv[0]}: {(shown.stderr or shown.stdout).strip()[-200:]}")
    return shown.stdout.split()


def running_jobs(node):
    jobs = output_of("squeue", "-h", "-t", RUNNING, "-w", node, "-o", "%A")
    return f"jobs {', '.join(jobs)}" if jobs else ""


def describe_work(node):
    """Describes what still runs on the node; empty when it is idle. The number of used cores is no alternative: Slurm updates
    it at most once a second and may show the cores of an ended job until the next one starts.
    """
    states = output_of("sinfo", "-h", "-N", "-n", node, "-o", "%T")
    busy = next((state for state in states if state.rstrip("*~#!%$@^-+") in BUSY), "")
    return busy or (running_jobs(node) if states else "")


request = json.load(sys.stdin)
deadline, left = time.monotonic() + request["seconds"], describe_work(request["node"])
while left and time.monotonic() < deadline:
    time.sleep(0.1)
    left = describe_work(request["node"])
if left:  # add the jobs for people who read it
    left = "; ".join(dict.fromkeys(filter(None, (left, running_jobs(request["node"])))))
json.dump({"left": left}, sys.stdout)
