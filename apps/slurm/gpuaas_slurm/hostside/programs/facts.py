"""Says what this host is. Reads nothing but what is there."""

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


def gpu_devices():
    found = (path for path in glob.glob("/dev/nvidia[0-9]*") if stat.S_ISCHR(os.stat(path).st_mode))
    return sorted(found, key=lambda path: int(path.removeprefix("/dev/nvidia")))


def said(argv):
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""


json.load(sys.stdin)
version = said(["slurmd", "-V"]) or said(["slurmctld", "-V"])
packages = said(["dpkg-query", "-W", "-f", "${Version}\n", "slurm-client"])
json.dump(
    {
        "hostname": os.uname().nodename.partition(".")[0],
        "cgroup": cgroup(),
        "gpu_devices": gpu_devices(),
        "slurm_version": version.rpartition(" ")[2],
        "package_version": packages,
    },
    sys.stdout,
)
