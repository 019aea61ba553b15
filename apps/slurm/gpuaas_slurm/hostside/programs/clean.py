"""Removes the cluster from this host: accounts, packages that it installed, files. Its daemons are already stopped.

{"folder", "users": [name], "paths": [path], "links": [path], "keep_packages": bool,
 "package_paths": [path], "package_users": [name]}
"""

import contextlib
import glob
import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time


def account(name):
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def end_processes(uid):
    """Ends all processes of a user: a shell, or a job process that escaped from its step."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        mine = []
        for entry in os.listdir("/proc"):
            try:
                if entry.isdigit() and os.stat(f"/proc/{entry}").st_uid == uid:
                    mine.append(int(entry))
            except OSError:
                continue
        if not mine:
            return
        for pid in mine:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def remove_account(name):
    if (found := account(name)) is not None:
        end_processes(found.pw_uid)
        subprocess.run(["userdel", name], check=False, capture_output=True)
    subprocess.run(["groupdel", name], check=False, capture_output=True)
    for spool in (f"/var/mail/{name}", f"/var/spool/cron/crontabs/{name}"):
        remove(spool)


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def purge(packages):
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    form = "${db:Status-Abbrev} ${Package}\n"
    lines = subprocess.run(["dpkg-query", "-W", "-f", form], capture_output=True, text=True, check=True).stdout
    there = {line.split()[-1] for line in lines.splitlines() if line and line[0:2] != "un"}
    mine = [name for name in packages if name in there]
    if not mine:
        return
    done = subprocess.run(
        ["apt-get", "-q", "-y", "purge", *mine],
        env=environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode != 0:
        sys.exit(f"apt-get purge: {done.stderr.strip()[-240:]}")


def belongs_to_package(path):
    return subprocess.run(["dpkg-query", "-S", path], capture_output=True, check=False).returncode == 0


request = json.load(sys.stdin)
note = os.path.join(request["folder"], "packages", "brought.json")
try:
    with open(note) as file:
        brought = json.load(file)
except FileNotFoundError:
    brought = {"packages": [], "accounts": []}
for name in request["users"]:
    remove_account(name)
for path in (found for pattern in request["links"] for found in glob.glob(pattern)):
    if os.path.islink(path) and not belongs_to_package(path):
        remove(path)
for path in request["paths"]:
    remove(path)
if brought["packages"] and not request["keep_packages"]:
    purge(brought["packages"])
    for name in brought["accounts"]:
        if name in request["package_users"]:
            remove_account(name)
            for path in (one for one in request["package_paths"] if os.path.basename(one) == name):
                remove(path)
subprocess.run(["systemctl", "daemon-reload"], check=False)
subprocess.run(["systemctl", "reset-failed"], check=False, capture_output=True)
remove(request["folder"])  # last: until then a repeated run knows what to remove
json.dump({"purged": [] if request["keep_packages"] else brought["packages"]}, sys.stdout)
