"""Proves that a login user can use the cluster: the accounting knows the uid, sbatch accepts a job, and a job runs.

{"user", "accounting": bool, "nodes": [name], "seconds"}: the job runs on those nodes that are idle, so that no other job has
to wait for it.
"""

import json
import re
import subprocess
import sys
import time


def run(argv, seconds):
    try:
        return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=seconds, cwd="/")
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(argv, 1, "", f"no answer within {seconds} s")


def until(done, seconds, what):
    """Repeats the check until it succeeds. On a timeout the program ends with the last error."""
    deadline, output = time.monotonic() + seconds, ""
    while time.monotonic() < deadline:
        ok, output = done()
        if ok:
            return output
        time.sleep(0.1)
    sys.exit(f"{what}: {output.strip()[-200:]}")


def associated():
    shown = run(["scontrol", "-o", "show", "assoc_mgr", f"users={user}", "flags=assoc"], 10).stdout
    found = re.search(rf"UserName={re.escape(user)}\((\d+)\)", shown)
    return found is not None, found[1] if found else "the accounting does not know the user's uid"


def allowed():
    tried = run([*as_user, "sbatch", "--test-only", "--wrap", "true"], 10)
    return tried.returncode == 0, tried.stderr or tried.stdout


def free():
    shown = run(["sinfo", "-h", "-N", "-n", ",".join(request["nodes"]), "-o", "%N %T"], 10)
    if shown.returncode != 0:
        sys.exit(f"sinfo: {shown.stderr.strip()[-200:]}")
    return sorted({line.split()[0] for line in shown.stdout.splitlines() if line.split()[1:] == ["idle"]})


def worked():
    where = ["-w", ",".join(nodes), "-N", str(len(nodes))]
    job = run([*as_user, "srun", "--input=none", "--immediate=10", "-J", "gpuaas-proof", *where, "hostname"], 20)
    return job.returncode == 0, job.stderr or job.stdout


request = json.load(sys.stdin)
user, seconds = request["user"], request["seconds"]
as_user = ["runuser", "-u", user, "--"]
number = until(associated, seconds, "no association") if request["accounting"] else None
until(allowed, seconds, "sbatch --test-only fails")
nodes = free() if request["nodes"] else []
if nodes:
    until(worked, seconds, "no job ran")
json.dump({"uid": number, "ran_on": nodes}, sys.stdout)
