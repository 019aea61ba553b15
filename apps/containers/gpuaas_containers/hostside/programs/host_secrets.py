"""Keeps values that a container reads: as secrets of the engine, or as files in a folder that only root can enter.

A name has one value for ever, so that what is there stays. No unit, process list or inspection has a value.
"""

import base64
import os
import subprocess

from host_commands import ENGINE, SECONDS, Failed, last_line, remove_file, run, run_or_fail


def put_secrets(request):
    """{"variables": {name: value in base64}, "folder", "files": {name: value in base64}, "owner": [uid, gid, mode]}"""
    there = names() if request["variables"] else []
    for name, value in request["variables"].items():
        if name not in there:
            create(name, base64.b64decode(value))
    if request["files"]:
        os.makedirs(request["folder"], exist_ok=True)
        os.chmod(request["folder"], 0o700)
    for name, value in request["files"].items():
        write(os.path.join(request["folder"], name), base64.b64decode(value), *request["owner"])
    return {}


def create(name, value):
    """Creates a secret. The value comes through a pipe."""
    command = [ENGINE, "secret", "create", name, "-"]
    done = subprocess.run(command, input=value, capture_output=True, timeout=SECONDS)
    if done.returncode == 0:
        return
    said = last_line(done.stderr.decode(errors="replace"))
    if "no space left" in said:
        raise Failed("disk_full", said)
    if name not in names():  # else another attempt has made it
        raise Failed("secret_refused", f"the engine does not keep a secret: {said}")


def write(path, value, uid, gid, mode):
    """Writes a file. Another version of the app may have another user, so that owner and mode are set each time."""
    temporary = f"{path}.new"
    remove_file(temporary)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(value)
        file.flush()
        os.fsync(file.fileno())
        os.fchown(file.fileno(), uid, gid)
        os.fchmod(file.fileno(), mode)
    os.replace(temporary, path)


def forget_secrets(request):
    """{"secrets", "folder", "keep"}: values of a member that its container no longer reads go."""
    folder, removed = request["folder"], remove_secrets(request["secrets"], request["keep"])
    for name in os.listdir(folder) if os.path.isdir(folder) else ():
        if name not in request["keep"]:
            remove_file(os.path.join(folder, name))
            removed.append(f"file {name}")
    return {"removed": removed}


def remove_secrets(beginning, keep=()):
    removed = []
    for name in names():
        if name.startswith(f"{beginning}.") and name not in keep:
            done = run([ENGINE, "secret", "rm", name])
            if done.returncode != 0 and name in names():
                raise Failed("removal_failed", f"the secret {name} cannot be removed: {last_line(done.stderr)}")
            removed.append(f"secret {name}")
    return removed


def names():
    return run_or_fail([ENGINE, "secret", "ls", "--format={{.Name}}"], "secret_refused").split()
