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


told = json.load(sys.stdin)
for unit in told["units"]:
    # A job's steps outlive their daemon by design; here they must not.
    systemctl("kill", "--signal=TERM", "--kill-whom=main", unit)
    systemctl("disable", "--quiet", "--now", unit)
    systemctl("kill", "--signal=KILL", unit)
    systemctl("reset-failed", unit)
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
