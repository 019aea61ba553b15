"""The accounting database: its files, and in the running database the one that Slurm fills.

{"phase": "files" | "content", "folder", "socket"}
"""

import json
import os
import shutil
import subprocess
import sys

OWNER = "slurm"


def ran(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{argv[0]}: {(done.stderr or done.stdout).strip()[-240:]}")


def files(folder):
    """All of them or none: a crash in the middle leaves a folder of another name."""
    if os.path.isdir(f"{folder}/mysql"):
        return False
    beside = f"{folder}.new"
    shutil.rmtree(beside, ignore_errors=True)
    os.makedirs(beside, mode=0o700)
    shutil.chown(beside, OWNER, OWNER)
    owner = [f"--user={OWNER}", "--auth-root-authentication-method=socket", f"--auth-root-socket-user={OWNER}"]
    ran("mariadb-install-db", "--no-defaults", f"--datadir={beside}", *owner, "--skip-test-db", "--skip-name-resolve")
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(beside, folder)
    return True


told = json.load(sys.stdin)
if told["phase"] == "files":
    made = files(told["folder"])
else:
    made = True
    client = ["runuser", "-u", OWNER, "--", "mariadb", "--no-defaults", f"--socket={told['socket']}"]
    ran(*client, "-e", "CREATE DATABASE IF NOT EXISTS slurm_acct_db")
json.dump({"made": made}, sys.stdout)
