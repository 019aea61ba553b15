"""What anybody on the nodes' network may know of this cluster: states and counts, in one JSON line. No names of people or
jobs, and nothing can be asked for: whoever connects is told, and that is all.
"""

import json
import re
import subprocess
import sys


def said(*argv):
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=8)
    except (OSError, subprocess.TimeoutExpired):
        return None


def document(*argv):
    ran = said(*argv)
    try:
        return json.loads(ran.stdout) if ran is not None and ran.returncode == 0 else None
    except ValueError:
        return None


def node(one):
    kept = ("name", "state", "state_flags", "reason", "slurmd_version", "gres", "alloc_cpus")
    return {name: one.get(name) for name in kept}


def usage():
    """Seconds of jobs by account, since the beginning: what is reported is a count that only grows."""
    form = "Account,ElapsedRaw,AllocTRES"
    ran = said("sacct", "-a", "-X", "-P", "-n", "-S", "1970-01-02", "-o", form)
    if ran is None or ran.returncode != 0:
        return None
    found = {}
    for line in ran.stdout.splitlines():
        account, seconds, tres = line.split("|")
        gpus = re.search(r"gres/gpu=(\d+)", tres)
        entry = found.setdefault(account, {"jobs": 0, "job_seconds": 0, "gpu_seconds": 0})
        entry["jobs"] += 1
        entry["job_seconds"] += int(seconds or 0)
        entry["gpu_seconds"] += int(seconds or 0) * int(gpus[1] if gpus else 0)
    return found


nodes, jobs = document("sinfo", "--json"), document("squeue", "--json")
counts = {}
for job in (jobs or {}).get("jobs", ()):
    counts[job.get("job_state", "UNKNOWN")] = counts.get(job.get("job_state", "UNKNOWN"), 0) + 1
answer = {
    "version": (nodes or {}).get("meta", {}).get("Slurm", {}).get("release"),
    "answers": nodes is not None,
    "nodes": [node(one) for one in (nodes or {}).get("nodes", ())],
    "jobs": counts,
    "usage": usage() if sys.argv[1:] == ["accounting"] and nodes is not None else None,
}
sys.stdout.write(json.dumps(answer) + "\n")
