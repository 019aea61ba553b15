"""Manages the names of the cluster's members in /etc/hosts. Each of these lines ends with the mark; other lines stay.

{"mark", "names": {address: [name]} | null, "forget": [name]}: null removes all lines with the mark.
"""

import fcntl
import json
import os
import sys

PATH, LOCK = "/etc/hosts", "/run/gpuaas-slurm-hosts.lock"

request = json.load(sys.stdin)
# Several members may join at the same time and change the file of the head node.
with open(LOCK, "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    with open(PATH) as file:
        before = file.read()
    others = [line for line in before.splitlines() if not line.endswith(request["mark"])]
    ours = [line for line in before.splitlines() if line.endswith(request["mark"])]
    names = request["names"]
    if names is None:
        kept = []
    else:
        gone = {*request.get("forget", ()), *(name for listed in names.values() for name in listed)}
        kept = [line for line in ours if not gone & set(line.split()[1:])]
        kept += [f"{address} {' '.join(listed)} {request['mark']}" for address, listed in sorted(names.items())]
    after = "".join(f"{line}\n" for line in (*others, *kept))
    if after != before:
        with open(f"{PATH}.gpuaas", "w") as file:
            file.write(after)
        os.chmod(f"{PATH}.gpuaas", os.stat(PATH).st_mode & 0o7777)
        os.replace(f"{PATH}.gpuaas", PATH)
if names is None:
    os.unlink(LOCK)
json.dump({"changed": after != before}, sys.stdout)
