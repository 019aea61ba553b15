"""Installs packages, and records which of them are new on the host: only those are removed later.

{"folder", "mode": "artifact" | "host", "digest", "wanted": [name], "bundle": path | null}
-> {"needed": bool, "brought": [name]}: `needed` means that the bundle must be copied to the host first.
"""

import json
import os
import pwd
import subprocess
import sys

ACCOUNTS = ("slurm", "munge")


def installed():
    """Names and versions of all fully installed packages."""
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
        with open(path) as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def write(path, document):
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(f"{path}.new", "w") as file:
        json.dump(document, file)
        os.fsync(file.fileno())
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
    """Returns the packages that apt would install. They are recorded first, so that a cleanup after a crash knows them."""
    lines = apt(options, "install", "-s", "-y", "--no-install-recommends", "--allow-downgrades", *wanted).splitlines()
    return [line.split()[1] for line in lines if line.startswith("Inst ")]


def unpack(bundle, digest, folder):
    """Unpacks the artifact as a local source for apt, after checking its digest again."""
    import hashlib
    import shutil
    import tarfile

    seen = hashlib.sha256()
    with open(bundle, "rb") as file:
        while chunk := file.read(1 << 20):
            seen.update(chunk)
    if f"sha256:{seen.hexdigest()}" != digest:
        sys.exit("the received bytes do not have the digest of the artifact")
    place = os.path.join(folder, "source")
    shutil.rmtree(place, ignore_errors=True)
    try:
        with tarfile.open(bundle, "r:") as archive:  # neither compressed nor sparse: it cannot become larger than it is
            for entry in archive:  # the bundle has only plain files at the top level
                if not entry.isfile() or entry.issparse() or "/" in entry.name:
                    sys.exit("the artifact contains something other than packages")
                archive.extract(entry, place, set_attrs=False)
    except tarfile.TarError:
        sys.exit("the artifact is not a tar archive, or is compressed")
    os.unlink(bundle)
    return place


def local_source(folder, place):
    listed = os.path.join(folder, "sources.list")
    with open(listed, "w") as file:
        file.write(f"deb [trusted=yes] file:{place} ./\n")
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


request = json.load(sys.stdin)
folder, wanted = request["folder"], request["wanted"]
note = os.path.join(folder, "brought.json")
known = read(note) or {"packages": [], "accounts": [], "digest": None, "wanted": []}
here = installed()
of_host = request["mode"] == "host"
complete = all(name in here for name in wanted) and (of_host or known["digest"] == request["digest"])
if not complete and not of_host and request["bundle"] is None:
    json.dump({"needed": True, "brought": known["packages"]}, sys.stdout)
    sys.exit()
if not complete:
    options = [] if of_host else local_source(folder, unpack(request["bundle"], request["digest"], folder))
    apt(options, "update")
    coming = planned(options, wanted)
    known["packages"] = sorted({*known["packages"], *(name for name in coming if name not in here)})
    known["accounts"] = sorted({*known["accounts"], *(name for name in ACCOUNTS if not account(name))})
    write(note, known)
    apt(options, "install", "-y", "--no-install-recommends", "--allow-downgrades", *wanted)
    if not of_host:
        known["digest"] = request["digest"]
        write(note, known)
        for one in ("source", "apt", "sources.list"):
            remove(os.path.join(folder, one))
json.dump({"needed": False, "brought": known["packages"]}, sys.stdout)
