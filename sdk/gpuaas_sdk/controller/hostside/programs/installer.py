"""Installs things on a host as root, records them, and removes what is recorded.

Each input line is a request, each output line its answer: {"done": {...}} or {"failed": {"code", "message"}}. Requests are
repeatable, also after a crash at any point.
"""

import base64
import contextlib
import errno
import grp
import hashlib
import json
import os
import pwd

from host_downloads import put_artifact, unpack
from host_files import Failed, ids_of, is_same_file, refuse_mounts, remove_path, remove_temporaries, run, write_file
from host_packages import apt, installed_packages, package
from host_record import Record, claim_path
from host_units import file_of, stop_unit, stop_units, unit


def put(record, request):
    path, mode, owner = request["path"], request["mode"], ids_of(request["owner"])
    content = base64.b64decode(request["content"])
    claim_path(record, path)
    if is_same_file(path, hashlib.sha256(content).hexdigest(), mode, owner):
        return {"changed": False}
    write_file(path, content, mode, owner)
    return {"changed": True}


def folder(record, request):
    path, mode, owner = request["path"], request["mode"], ids_of(request["owner"])
    claim_path(record, path)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, mode)
    if os.path.islink(path) or not os.path.isdir(path):
        raise Failed("path_taken", f"{path} is not a folder")
    found = os.stat(path)
    changed = (found.st_mode & 0o7777, found.st_uid, found.st_gid) != (mode, *owner)
    os.chown(path, *owner)
    os.chmod(path, mode)
    return {"changed": changed}


def user(record, request):
    name = request["name"]
    if exists_user(name):
        return {"changed": False}
    record.add("user", name)
    command = ["useradd", "--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin"]
    home = ["--home-dir", request["home"]] if request["home"] else []
    with contextlib.suppress(KeyError):  # a crash of useradd may leave the group alone
        grp.getgrnam(name)
        command = [*command[:2], "--gid", name, *command[3:]]
    run([*command, *home, "--", name], "user_failed")
    return {"changed": True}


def exists_user(name):
    try:
        pwd.getpwnam(name)
        return True
    except KeyError:
        return False


def remove_all(record, request):
    """Removes in the order in which nothing needs what is gone: units, packages, paths, users; the record last."""
    names = record.names("unit")
    stop_units(names)
    for name in names:
        remove_temporaries(file_of(name))
        remove_path(file_of(name))
    if names:
        run(["systemctl", "daemon-reload"], "unit_failed")
    packages = sorted(set(record.names("package")) & installed_packages()) if record.names("package") else []
    if packages:
        apt("purge", "--yes", "--", *packages)
    for path in reversed(record.names("path")):
        refuse_mounts(path)
        remove_temporaries(path)
        remove_path(path)
    for name in record.names("user"):
        if exists_user(name):
            run(["userdel", "--", name], "user_failed")
    removed = [f"{kind} {name}" for kind, name in record.things]
    record.forget()
    return {"removed": removed}


ACTIONS = {
    "put": put,
    "folder": folder,
    "user": user,
    "unit": unit,
    "stop_unit": stop_unit,
    "package": package,
    "put_artifact": put_artifact,
    "unpack": unpack,
    "remove_all": remove_all,
}


def answer(line):
    try:
        request = json.loads(line)
        with Record(request["instance"]) as record:
            return {"done": ACTIONS[request["action"]](record, request)}
    except Failed as failed:
        return {"failed": {"code": failed.code, "message": str(failed)}}
    except OSError as error:
        code = "disk_full" if error.errno == errno.ENOSPC else "host_refused"
        return {"failed": {"code": code, "message": f"{error.strerror}: {error.filename}"}}
    except Exception as error:
        return {"failed": {"code": "installer_error", "message": type(error).__name__}}


if __name__ == "__main__":
    # Standard input and output carry the requests and answers; the programs that are run here must not touch them.
    requests, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    for line in iter(requests.readline, ""):
        replies.write(f"{json.dumps(answer(line))}\n")
        replies.flush()
