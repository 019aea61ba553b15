"""Lets slurmctld write its first state, for nobody: then its log begins without a word about files that are not there.

{"state": folder, "log": path}
"""

import json
import os
import pwd
import subprocess
import sys
import time

told = json.load(sys.stdin)
written = os.path.join(told["state"], "job_state")
if os.path.exists(written):
    json.dump({"made": False}, sys.stdout)
    sys.exit()
slurm = pwd.getpwnam("slurm")
command = ["slurmctld", "-D", "-c", "-L", "/dev/null"]
daemon = subprocess.Popen(
    command, user=slurm.pw_uid, group=slurm.pw_gid, extra_groups=[], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
)
deadline = time.monotonic() + 20
while time.monotonic() < deadline and daemon.poll() is None:
    if " is UP" in subprocess.run(["scontrol", "ping"], capture_output=True, text=True).stdout:
        break
    time.sleep(0.05)
daemon.terminate()
_, words = daemon.communicate(timeout=20)
if not os.path.exists(written):
    sys.exit(f"slurmctld did not start: {words.decode(errors='replace').strip().splitlines()[-1:]}")
json.dump({"made": True}, sys.stdout)
