"""Reads facts about this host and changes nothing.

{"versions": bool}: whether to read the versions of daemons and packages too, which takes longer than all the rest.
"""

import glob
import json
import os
import stat
import subprocess
import sys

CONTROLLERS = ("freezer", "devices", "cpuset")


def cgroup():
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        return "v2"
    writable = [os.access(f"/sys/fs/cgroup/{one}/cgroup.procs", os.W_OK) for one in CONTROLLERS]
    return "v1" if all(writable) else "none"


def memory_bounds():
    """Tells whether the memory of control groups can be limited."""
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        with open("/sys/fs/cgroup/cgroup.controllers") as file:
            return "memory" in file.read().split()
    return os.access("/sys/fs/cgroup/memory/cgroup.procs", os.W_OK)


def gpu_devices():
    found = (path for path in glob.glob("/dev/nvidia[0-9]*") if stat.S_ISCHR(os.stat(path).st_mode))
    return sorted(found, key=lambda path: int(path.removeprefix("/dev/nvidia")))


def output_of(argv):
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""


version = packages = ""
if json.load(sys.stdin)["versions"]:
    version = output_of(["slurmd", "-V"]) or output_of(["slurmctld", "-V"])
    packages = output_of(["dpkg-query", "-W", "-f", "${Version}\n", "slurm-client"])
json.dump(
    {
        "hostname": os.uname().nodename.partition(".")[0],
        "cgroup": cgroup(),
        "memory_bounds": memory_bounds(),
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20,
        "cpus": os.cpu_count(),
        "gpu_devices": gpu_devices(),
        "slurm_version": version.rpartition(" ")[2],
        "package_version": packages,
    },
    sys.stdout,
)
