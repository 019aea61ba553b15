"""Ends units for good: nothing of them runs, nothing starts them again, and their jobs' processes are gone.

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
                with open(f"/proc/{entry}/comm") as there:
                    name = there.read().strip()
            except OSError:
                continue
            if name in names:
                found[int(entry)] = name
    return found


def known(units):
    """Those of them that the host has heard of: most hosts have only some of the cluster's."""
    shown = systemctl("show", "--property=Id,LoadState,ActiveState", *units).stdout.split("\n\n")
    found = [dict(line.split("=", 1) for line in block.splitlines()) for block in shown if block.strip()]
    gone = {one["Id"] for one in found if one["LoadState"] == "not-found" and one["ActiveState"] == "inactive"}
    return [unit for unit in units if unit not in gone]


told = json.load(sys.stdin)
here = known(told["units"])
if here:
    systemctl("disable", "--quiet", *here)
for unit in here:
    # A job's steps outlive their daemon by design; here they must not.
    systemctl("kill", "--signal=TERM", "--kill-whom=main", unit)
    systemctl("stop", unit)
    systemctl("kill", "--signal=KILL", unit)
    systemctl("reset-failed", unit)
for unit in told["units"]:
    stamp = os.path.join(told["stamps"], unit)
    if os.path.exists(stamp):
        os.unlink(stamp)
systemctl("stop", "slurmstepd.scope") if told["processes"] else None
deadline = time.monotonic() + 10
while told["processes"] and (left := running(told["processes"])):
    if time.monotonic() > deadline:
        sys.exit(f"still there: {sorted(set(left.values()))}")
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    time.sleep(0.05)
json.dump({"stopped": told["units"]}, sys.stdout)
