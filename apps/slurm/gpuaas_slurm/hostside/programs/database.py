"""Creates the accounting database: its files (`files`), and Slurm's database in the running server (`content`).

{"phase": "files" | "content", "folder", "socket"}
"""

import json
import os
import shutil
import subprocess
import sys

OWNER = "slurm"


def run(*argv):
    done = subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{argv[0]}: {(done.stderr or done.stdout).strip()[-240:]}")


def files(folder):
    """Creates all files or none: a crash leaves only a folder with another name."""
    if os.path.isdir(f"{folder}/mysql"):
        return False
    temporary = f"{folder}.new"
    shutil.rmtree(temporary, ignore_errors=True)
    os.makedirs(temporary, mode=0o700)
    shutil.chown(temporary, OWNER, OWNER)
    owner = [f"--user={OWNER}", "--auth-root-authentication-method=socket", f"--auth-root-socket-user={OWNER}"]
    run(
        "mariadb-install-db", "--no-defaults", f"--datadir={temporary}", *owner, "--skip-test-db", "--skip-name-resolve"
    )
    shutil.rmtree(folder, ignore_errors=True)
    os.rename(temporary, folder)
    return True


request = json.load(sys.stdin)
if request["phase"] == "files":
    made = files(request["folder"])
else:
    made = True
    client = ["runuser", "-u", OWNER, "--", "mariadb", "--no-defaults", f"--socket={request['socket']}"]
    run(*client, "-e", "CREATE DATABASE IF NOT EXISTS slurm_acct_db")
json.dump({"made": made}, sys.stdout)
