"""Brings files, folders, links and accounts to the wanted state, and lists what it changed.

{"users": [{"name", "uid", "home"}], "folders": [{"path", "owner", "mode"}],
 "files": [{"path", "text" | "base64", "owner", "mode"}], "links": [{"path", "target"}], "absent": [path]}

A link whose path has a `*` is made in each matching folder that has its target: library folders depend on the architecture.
"""

import base64
import glob
import grp
import json
import os
import pwd
import subprocess
import sys

changed = []


def ids(owner):
    return pwd.getpwnam(owner).pw_uid, grp.getgrnam(owner).gr_gid


def user(one):
    try:
        found = pwd.getpwnam(one["name"])
    except KeyError:
        found = None
    if found is not None:
        if found.pw_uid != one["uid"]:
            sys.exit(f"the account {one['name']} exists with another uid, {found.pw_uid}")
        return
    try:
        taken = pwd.getpwuid(one["uid"]).pw_name
        sys.exit(f"the uid {one['uid']} belongs to the account {taken}")
    except KeyError:
        pass
    number, home = str(one["uid"]), one["home"]
    os.makedirs(os.path.dirname(home), exist_ok=True)
    subprocess.run(["groupadd", "--force", "--gid", number, one["name"]], check=True)
    make = ["useradd", "--uid", number, "--gid", number, "--create-home", "--home-dir", home, "--shell", "/bin/bash"]
    subprocess.run([*make, one["name"]], check=True)
    changed.append(f"account {one['name']}")


def set_owner(path, owner, mode):
    here, wanted = os.lstat(path), ids(owner)
    if (here.st_uid, here.st_gid) != wanted:
        os.chown(path, *wanted)
        changed.append(path)
    if here.st_mode & 0o7777 != mode:
        os.chmod(path, mode)
        changed.append(path)


def folder(one):
    if not os.path.isdir(one["path"]):
        os.makedirs(one["path"], mode=0o755)
        changed.append(one["path"])
    set_owner(one["path"], one["owner"], one["mode"])


def file(one):
    path = one["path"]
    content = base64.b64decode(one["base64"]) if "base64" in one else one["text"].encode()
    try:
        with open(path, "rb") as existing:
            same = existing.read() == content and not os.path.islink(path)
    except FileNotFoundError:
        same = False
    if same:
        set_owner(path, one["owner"], one["mode"])
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    # Written to a temporary file that only root can read, then renamed: readers see the old file or the new one.
    temporary = os.path.join(os.path.dirname(path), f".gpuaas-{os.urandom(4).hex()}")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as new:
        new.write(content)
    os.chown(temporary, *ids(one["owner"]))
    os.chmod(temporary, one["mode"])
    os.replace(temporary, path)
    changed.append(path)


def find_paths(one):
    folder, name = os.path.split(one["path"])
    if "*" not in folder:
        return [one["path"]]
    return [os.path.join(os.path.dirname(found), name) for found in glob.glob(os.path.join(folder, one["target"]))]


def links(one):
    for path in find_paths(one):
        link({**one, "path": path})


def link(one):
    if os.path.islink(one["path"]) and os.readlink(one["path"]) == one["target"]:
        return
    if os.path.lexists(one["path"]):
        if one.get("keep"):
            return
        os.unlink(one["path"])
    os.symlink(one["target"], one["path"])
    changed.append(one["path"])


request = json.load(sys.stdin)
for kind, make in (("users", user), ("folders", folder), ("files", file), ("links", links)):
    for entry in request.get(kind, ()):
        make(entry)
for path in request.get("absent", ()):
    if os.path.lexists(path):
        os.unlink(path)
        changed.append(path)
json.dump({"changed": changed}, sys.stdout)
