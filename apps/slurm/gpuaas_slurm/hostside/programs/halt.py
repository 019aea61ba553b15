"""Stops units for good: none of them runs or starts again, and the processes of their jobs are gone.

{"units": [name], "stamps": folder, "processes": [name]}
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time


def systemctl(*arguments):
    return subprocess.run(["systemctl", *arguments], capture_output=True, text=True, check=False)


def running(names):
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/comm") as file:
                    name = file.read().strip()
            except OSError:
                continue
            if name in names:
                found[int(entry)] = name
    return found


def known(units):
    """Returns the units that the host knows: most hosts have only some units of the cluster."""
    shown = systemctl("show", "--property=Id,LoadState,ActiveState", *units).stdout.split("\n\n")
    found = [dict(line.split("=", 1) for line in block.splitlines()) for block in shown if block.strip()]
    gone = {one["Id"] for one in found if one["LoadState"] == "not-found" and one["ActiveState"] == "inactive"}
    return [unit for unit in units if unit not in gone]


request = json.load(sys.stdin)
here = known(request["units"])
if here:
    systemctl("disable", "--quiet", *here)
for unit in here:
    # Job steps survive the end of their daemon by design; here they must end.
    systemctl("kill", "--signal=TERM", "--kill-whom=main", unit)
    systemctl("stop", unit)
    systemctl("kill", "--signal=KILL", unit)
    systemctl("reset-failed", unit)
for unit in request["units"]:
    stamp = os.path.join(request["stamps"], unit)
    if os.path.exists(stamp):
        os.unlink(stamp)
systemctl("stop", "slurmstepd.scope") if request["processes"] else None
deadline = time.monotonic() + 10
while request["processes"] and (left := running(request["processes"])):
    if time.monotonic() > deadline:
        sys.exit(f"still running: {sorted(set(left.values()))}")
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    time.sleep(0.05)
json.dump({"stopped": request["units"]}, sys.stdout)
