"""Names of the cluster's members in this host's /etc/hosts, each line with our mark. Other lines stay as they are.

{"mark", "names": {address: [name]} | null, "forget": [name]}: null takes all of ours away.
"""

import fcntl
import json
import os
import sys

PATH, LOCK = "/etc/hosts", "/run/gpuaas-slurm-hosts.lock"

told = json.load(sys.stdin)
# Several members may join at once, and each of them changes the controller's file.
with open(LOCK, "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    with open(PATH) as there:
        before = there.read()
    others = [line for line in before.splitlines() if not line.endswith(told["mark"])]
    ours = [line for line in before.splitlines() if line.endswith(told["mark"])]
    names = told["names"]
    if names is None:
        kept = []
    else:
        gone = {*told.get("forget", ()), *(name for listed in names.values() for name in listed)}
        kept = [line for line in ours if not gone & set(line.split()[1:])]
        kept += [f"{address} {' '.join(listed)} {told['mark']}" for address, listed in sorted(names.items())]
    after = "".join(f"{line}\n" for line in (*others, *kept))
    if after != before:
        with open(f"{PATH}.gpuaas", "w") as there:
            there.write(after)
        os.chmod(f"{PATH}.gpuaas", os.stat(PATH).st_mode & 0o7777)
        os.replace(f"{PATH}.gpuaas", PATH)
if names is None:
    os.unlink(LOCK)
json.dump({"changed": after != before}, sys.stdout)
