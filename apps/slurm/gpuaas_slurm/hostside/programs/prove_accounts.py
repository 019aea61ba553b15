"""Proves that a user may run jobs under accounts: slurmctld knows the associations.

{"user", "accounts": [name], "seconds"}
"""

import json
import subprocess
import sys
import time

request = json.load(sys.stdin)
deadline = time.monotonic() + request["seconds"]
for account in request["accounts"]:
    argv = ["runuser", "-u", request["user"], "--", "sbatch", "--test-only", f"--account={account}", "--wrap", "true"]
    while True:
        tried = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20, cwd="/")
        if tried.returncode == 0:
            break
        if time.monotonic() > deadline:
            sys.exit(f"{account}: {(tried.stderr or tried.stdout).strip()[-200:]}")
        time.sleep(0.2)  # slurmctld learns of a new association after a moment
json.dump({"accounts": request["accounts"]}, sys.stdout)
