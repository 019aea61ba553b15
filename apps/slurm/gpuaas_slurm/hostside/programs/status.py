"""Serves states and counts of this cluster, in one JSON line, to clients that prove that they know its status key.

A client gets a line {"nonce"} and answers `MAC`, or `MAC since SECONDS` to get the jobs that ended since then, with numbers and
accounts. Without the argument `accounting`, they are read from a file that slurmctld writes, without accounts. MAC is the
HMAC-SHA256 of the nonce under the key, in hexadecimal; the key itself is never sent. With the argument `local` no proof is
needed: an account that can start this program as root or slurm can also read the key.
"""

import contextlib
import hashlib
import hmac
import json
import os
import re
import select
import subprocess
import sys
import time

MAX_JOBS = 20_000
KEY = "/var/lib/gpuaas-slurm/status-key"
COMPLETED_JOBS = "/var/lib/gpuaas-slurm/controller/completed-jobs"
CHUNK = 1 << 20  # bytes of the file of completed jobs that are read at once
LATE = 3600  # seconds by which a line may be later than its neighbours, such as that of a node that was offline
REQUEST_SECONDS = 5.0
MAX_REQUEST = 200  # bytes


def run(*argv):
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=8)
    except (OSError, subprocess.TimeoutExpired):
        return None


def document(*argv):
    result = run(*argv)
    try:
        return json.loads(result.stdout) if result is not None and result.returncode == 0 else None
    except ValueError:
        return None


def node(one):
    kept = ("name", "state", "state_flags", "reason", "slurmd_version", "gres")
    return {name: one.get(name) for name in kept}


def usage():
    """Returns the seconds of jobs by account, since the beginning, so that the counts only grow."""
    form = "Account,ElapsedRaw,AllocTRES"
    result = run("sacct", "-a", "-X", "-P", "-n", "-S", "1970-01-02", "-o", form)
    if result is None or result.returncode != 0:
        return None
    found = {}
    for line in result.stdout.splitlines():
        account, seconds, tres = line.split("|")
        gpus = re.search(r"gres/gpu=(\d+)", tres)
        entry = found.setdefault(account, {"jobs": 0, "job_seconds": 0, "gpu_seconds": 0})
        entry["jobs"] += 1
        entry["job_seconds"] += int(seconds or 0)
        entry["gpu_seconds"] += int(seconds or 0) * int(gpus[1] if gpus else 0)
    return found


def read_request():
    """Reads the request line without its line end. Returns None if it is too late or too long."""
    line, until = b"", time.monotonic() + REQUEST_SECONDS
    while not line.endswith(b"\n"):
        left = until - time.monotonic()
        if left <= 0 or len(line) > MAX_REQUEST or not select.select([0], [], [], left)[0]:
            return None
        byte = os.read(0, 1)
        if not byte:
            return None
        line += byte
    return line[:-1]


def authenticate():
    """Returns the request of a client that knows the key, and ends the program for any other."""
    try:
        with open(KEY, "rb") as file:
            key = file.read().strip()
    except FileNotFoundError:
        key = b""
    nonce = os.urandom(16).hex()
    sys.stdout.write(json.dumps({"nonce": nonce}) + "\n")
    sys.stdout.flush()
    mac, _, rest = (read_request() or b"").partition(b" ")
    wanted = hmac.new(key, nonce.encode(), hashlib.sha256).hexdigest().encode()
    if not key or not hmac.compare_digest(mac, wanted):
        sys.stdout.write(json.dumps({"refused": "wrong status key"}) + "\n")
        sys.exit(0)
    return rest


def parse_since(words):
    """Returns the time in seconds from which ended jobs are requested, or None."""
    found = re.fullmatch(rb"since (\d{1,12})", words)
    return int(found[1]) if found else None


def ended(since):
    """Returns every run of a job that has ended, ordered by end. A requeued job has several runs."""
    form = "JobIDRaw,Account,Start,End,ElapsedRaw,CPUTimeRAW,AllocTRES"
    begin = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(max(since, 86400)))
    os.environ["SLURM_TIME_FORMAT"] = "%s"
    result = run("sacct", "-a", "-X", "-D", "-P", "-n", "-S", begin, "-E", "now", "-o", form)
    if result is None or result.returncode != 0:
        return None
    found, still = [], 0
    for line in result.stdout.splitlines():
        number, account, start, end, seconds, cpus, tres = line.split("|")
        if not start.isdigit():
            continue  # it never started
        if not end.isdigit():
            still += 1
        elif int(end) >= since:
            gpus = re.search(r"gres/gpu=(\d+)", tres)
            used = int(seconds or 0) * int(gpus[1] if gpus else 0)
            found.append([number, account, int(start), int(end), int(cpus or 0), used])
    return cut(found, still)


def cut(found, still):
    found.sort(key=lambda one: (one[3], one[0]))
    kept = found[:MAX_JOBS]
    while len(kept) < len(found) and found[len(kept)][3] == kept[-1][3]:
        kept.append(found[len(kept)])  # the next request starts at a whole second
    return {"jobs": kept, "more": len(kept) < len(found), "open": still}


def ended_in_file(since, still):
    """Every run of a job that has ended, by the lines of slurmctld, from the last one back. The file before it has `.1`."""
    found = []
    for path in (COMPLETED_JOBS, f"{COMPLETED_JOBS}.1"):
        for line in lines_backwards(path):
            job = completed_job(line)
            if job is not None and job[3] < since - LATE:
                return cut(found, still)
            if job is not None and job[3] >= since:
                found.append(job)
    return cut(found, still)


def completed_job(line):
    """[number, account, start, end, CPU seconds, GPU seconds], or None for a line that is not whole."""
    parts = line.split()
    if len(parts) != 5 or not all(part.isdigit() for part in parts):
        return None
    number, start, end, cpus, gpus = map(int, parts)
    ran = max(0, end - start)
    return [str(number), "", start, end, ran * cpus, ran * gpus]


def lines_backwards(path):
    with contextlib.suppress(FileNotFoundError), open(path, "rb") as file:  # without it, no job has ended yet
        at, rest = file.seek(0, os.SEEK_END), b""
        while at > 0:
            step = min(CHUNK, at)
            at = file.seek(at - step)
            lines = (file.read(step) + rest).split(b"\n")
            rest = lines[0]
            yield from reversed(lines[1:])
        yield rest


accounting = "accounting" in sys.argv[1:]
words = (read_request() or b"") if "local" in sys.argv[1:] else authenticate()
since = parse_since(words)
nodes, jobs = document("sinfo", "--json"), document("squeue", "--json")
counts = {}
for job in (jobs or {}).get("jobs", ()):
    counts[job.get("job_state", "UNKNOWN")] = counts.get(job.get("job_state", "UNKNOWN"), 0) + 1
running = sum(counts.get(state, 0) for state in ("RUNNING", "COMPLETING", "SUSPENDED"))
answer = {
    "version": (nodes or {}).get("meta", {}).get("Slurm", {}).get("release"),
    "answers": nodes is not None,
    "nodes": [node(one) for one in (nodes or {}).get("nodes", ())],
    "jobs": counts,
    "usage": usage() if accounting and nodes is not None else None,
    "ended": None if since is None else ended(since) if accounting else ended_in_file(since, running),
}
sys.stdout.write(json.dumps(answer) + "\n")
