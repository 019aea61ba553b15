"""Proves that a person may run under accounts: slurmctld knows the association, by the person's number.

{"user", "accounts": [name], "seconds"}
"""

import json
import subprocess
import sys
import time

told = json.load(sys.stdin)
deadline = time.monotonic() + told["seconds"]
for account in told["accounts"]:
    argv = ["runuser", "-u", told["user"], "--", "sbatch", "--test-only", f"--account={account}", "--wrap", "true"]
    while True:
        tried = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=20, cwd="/")
        if tried.returncode == 0:
            break
        if time.monotonic() > deadline:
            sys.exit(f"{account}: {(tried.stderr or tried.stdout).strip()[-200:]}")
        time.sleep(0.2)  # the accounting tells slurmctld of an association in a moment
json.dump({"accounts": told["accounts"]}, sys.stdout)
