"""Proves that the cluster works for a person: known to the accounting by number, allowed to submit, and a job runs.

{"user", "accounting": bool, "nodes": [name], "seconds"}: it runs on those of the nodes that are free, so that nobody's work
waits for our proof.
"""

import json
import re
import subprocess
import sys
import time


def ran(argv, seconds):
    try:
        return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=seconds, cwd="/")
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 1, "", f"no answer within {seconds} s")


def until(done, seconds, what):
    """The last word of what did not work, when it does not come."""
    deadline, said = time.monotonic() + seconds, ""
    while time.monotonic() < deadline:
        ok, said = done()
        if ok:
            return said
        time.sleep(0.1)
    sys.exit(f"{what}: {said.strip()[-200:]}")


def associated():
    shown = ran(["scontrol", "-o", "show", "assoc_mgr", f"users={user}", "flags=assoc"], 10).stdout
    found = re.search(rf"UserName={re.escape(user)}\((\d+)\)", shown)
    return found is not None, found[1] if found else "the accounting does not know the user's number"


def allowed():
    tried = ran([*as_user, "sbatch", "--test-only", "--wrap", "true"], 10)
    return tried.returncode == 0, tried.stderr or tried.stdout


def free():
    shown = ran(["sinfo", "-h", "-N", "-n", ",".join(told["nodes"]), "-o", "%N %T"], 10)
    if shown.returncode != 0:
        sys.exit(f"sinfo: {shown.stderr.strip()[-200:]}")
    return sorted({line.split()[0] for line in shown.stdout.splitlines() if line.split()[1:] == ["idle"]})


def worked():
    where = ["-w", ",".join(nodes), "-N", str(len(nodes))]
    job = ran([*as_user, "srun", "--input=none", "--immediate=10", "-J", "gpuaas-proof", *where, "hostname"], 20)
    return job.returncode == 0, job.stderr or job.stdout


told = json.load(sys.stdin)
user, seconds = told["user"], told["seconds"]
as_user = ["runuser", "-u", user, "--"]
number = until(associated, seconds, "no association") if told["accounting"] else None
until(allowed, seconds, "sbatch --test-only does not pass")
nodes = free() if told["nodes"] else []
if nodes:
    until(worked, seconds, "no job ran")
json.dump({"uid": number, "ran_on": nodes}, sys.stdout)
