"""What anybody on the nodes' network may know of this cluster: states and counts, in one JSON line. No names of people or
jobs. One thing can be asked for, by a line that is there when we look: `since SECONDS`, the jobs that have ended since then,
by their numbers and accounts.
"""

import json
import os
import re
import select
import subprocess
import sys
import time

MOST_JOBS = 20_000
ASKED_SECONDS = 0.2  # a question comes with the connection


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
    kept = ("name", "state", "state_flags", "reason", "slurmd_version", "gres")
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


def asked():
    """Since when, in seconds; None when nobody asks."""
    if not select.select([0], [], [], ASKED_SECONDS)[0]:
        return None
    found = re.match(rb"since (\d{1,12})\n", os.read(0, 64))
    return int(found[1]) if found else None


def ended(since):
    """Each run of a job that has begun and ended, the earliest end first; of one that was queued again, each."""
    form = "JobIDRaw,Account,Start,End,ElapsedRaw,CPUTimeRAW,AllocTRES"
    begin = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(max(since, 86400)))
    os.environ["SLURM_TIME_FORMAT"] = "%s"
    ran = said("sacct", "-a", "-X", "-D", "-P", "-n", "-S", begin, "-E", "now", "-o", form)
    if ran is None or ran.returncode != 0:
        return None
    found, still = [], 0
    for line in ran.stdout.splitlines():
        number, account, start, end, seconds, cpus, tres = line.split("|")
        if not start.isdigit():
            continue  # it never began
        if not end.isdigit():
            still += 1
        elif int(end) >= since:
            gpus = re.search(r"gres/gpu=(\d+)", tres)
            used = int(seconds or 0) * int(gpus[1] if gpus else 0)
            found.append([number, account, int(start), int(end), int(cpus or 0), used])
    found.sort(key=lambda one: (one[3], one[0]))
    kept = found[:MOST_JOBS]
    while len(kept) < len(found) and found[len(kept)][3] == kept[-1][3]:
        kept.append(found[len(kept)])  # who asks again asks for a whole second
    return {"jobs": kept, "more": len(kept) < len(found), "open": still}


accounting = sys.argv[1:] == ["accounting"]
since = asked() if accounting else None
nodes, jobs = document("sinfo", "--json"), document("squeue", "--json")
counts = {}
for job in (jobs or {}).get("jobs", ()):
    counts[job.get("job_state", "UNKNOWN")] = counts.get(job.get("job_state", "UNKNOWN"), 0) + 1
answer = {
    "version": (nodes or {}).get("meta", {}).get("Slurm", {}).get("release"),
    "answers": nodes is not None,
    "nodes": [node(one) for one in (nodes or {}).get("nodes", ())],
    "jobs": counts,
    "usage": usage() if accounting and nodes is not None else None,
    "ended": ended(since) if since is not None else None,
}
sys.stdout.write(json.dumps(answer) + "\n")
