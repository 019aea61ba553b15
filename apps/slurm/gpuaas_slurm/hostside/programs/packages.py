"""Brings packages onto the host, and writes down which of them were not there before: only those are taken away again.

{"folder", "mode": "artifact" | "host", "digest", "wanted": [name], "bundle": path | null}
{"installed": bool, "needed": bool, "version"}: `needed` asks for the bundle's bytes and another call.
"""

import json
import os
import pwd
import subprocess
import sys

ACCOUNTS = ("slurm", "munge")


def installed():
    """Names and versions of what is on the host, half-installed ones not."""
    form = "${db:Status-Abbrev} ${Package} ${Version}\n"
    lines = subprocess.run(["dpkg-query", "-W", "-f", form], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in lines.splitlines())
    return {row[1]: row[2] for row in rows if len(row) == 3 and row[0] == "ii"}


def account(name):
    try:
        pwd.getpwnam(name)
        return True
    except KeyError:
        return False


def read(path):
    try:
        with open(path) as there:
            return json.load(there)
    except FileNotFoundError:
        return None


def write(path, document):
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(f"{path}.new", "w") as there:
        json.dump(document, there)
        os.fsync(there.fileno())
    os.replace(f"{path}.new", path)


def apt(options, *arguments):
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "-q", *options, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        words = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith(("E:", "dpkg:"))]
        sys.exit(f"apt-get {arguments[0]}: {' '.join(words)[-240:] or done.returncode}")
    return done.stdout


def planned(options, wanted):
    """What apt would bring, asked before it does: whoever cleans up after a crash must know."""
    lines = apt(options, "install", "-s", "-y", "--no-install-recommends", "--allow-downgrades", *wanted).splitlines()
    return [line.split()[1] for line in lines if line.startswith("Inst ")]


def unpacked(bundle, digest, folder):
    """The artifact's packages as a small source for apt, after one more look at what came over the wire."""
    import hashlib
    import shutil
    import tarfile

    seen = hashlib.sha256()
    with open(bundle, "rb") as there:
        while chunk := there.read(1 << 20):
            seen.update(chunk)
    if f"sha256:{seen.hexdigest()}" != digest:
        sys.exit("other bytes arrived than the artifact's")
    place = os.path.join(folder, "source")
    shutil.rmtree(place, ignore_errors=True)
    with tarfile.open(bundle) as archive:
        for entry in archive:  # plain files of plain names: ours are no others
            if not entry.isfile() or "/" in entry.name:
                sys.exit("the artifact holds something else than packages")
            archive.extract(entry, place, set_attrs=False)
    os.unlink(bundle)
    return place


def local_source(folder, place):
    listed = os.path.join(folder, "sources.list")
    with open(listed, "w") as there:
        there.write(f"deb [trusted=yes] file:{place} ./\n")
    state = os.path.join(folder, "apt")
    os.makedirs(os.path.join(state, "lists/partial"), exist_ok=True)
    os.makedirs(os.path.join(state, "archives/partial"), exist_ok=True)
    settings = {
        "Dir::Etc::sourcelist": listed,
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": f"{state}/lists",
        "Dir::Cache": state,
        "Dir::Cache::archives": f"{state}/archives",
        "APT::Sandbox::User": "root",
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def remove(path):
    if not os.path.isdir(path):
        os.unlink(path)
        return
    import shutil

    shutil.rmtree(path)


told = json.load(sys.stdin)
folder, wanted = told["folder"], told["wanted"]
note = os.path.join(folder, "brought.json")
known = read(note) or {"packages": [], "accounts": [], "digest": None, "wanted": []}
here = installed()
of_host = told["mode"] == "host"
complete = all(name in here for name in wanted) and (of_host or known["digest"] == told["digest"])
if not complete and not of_host and told["bundle"] is None:
    json.dump({"needed": True, "brought": known["packages"]}, sys.stdout)
    sys.exit()
if not complete:
    options = [] if of_host else local_source(folder, unpacked(told["bundle"], told["digest"], folder))
    apt(options, "update")
    coming = planned(options, wanted)
    known["packages"] = sorted({*known["packages"], *(name for name in coming if name not in here)})
    known["accounts"] = sorted({*known["accounts"], *(name for name in ACCOUNTS if not account(name))})
    write(note, known)
    apt(options, "install", "-y", "--no-install-recommends", "--allow-downgrades", *wanted)
    if not of_host:
        known["digest"] = told["digest"]
        write(note, known)
        for one in ("source", "apt", "sources.list"):
            remove(os.path.join(folder, one))
json.dump({"needed": False, "brought": known["packages"]}, sys.stdout)
