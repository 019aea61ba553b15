"""Lets slurmctld write its initial state once, so that its log has no errors about missing state files.

{"state": folder, "log": path}
"""

import json
import os
import pwd
import subprocess
import sys
import time

request = json.load(sys.stdin)
state_file = os.path.join(request["state"], "job_state")
if os.path.exists(state_file):
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
_, errors = daemon.communicate(timeout=20)
if not os.path.exists(state_file):
    sys.exit(f"slurmctld did not start: {errors.decode(errors='replace').strip().splitlines()[-1:]}")
json.dump({"made": True}, sys.stdout)
