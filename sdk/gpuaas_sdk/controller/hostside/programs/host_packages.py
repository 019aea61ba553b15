"""Installs packages of the host's own sources, and records those that are new on the host: only those are removed."""

import os
import subprocess

from host_files import Failed, output


def package(record, request):
    wanted = request["names"]
    here = installed_packages()
    if set(wanted) <= here:
        return {"changed": False}
    apt("update")
    plan = apt("install", "--simulate", "--yes", "--no-install-recommends", "--", *wanted)
    for name in (line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")):
        if name not in here:
            record.add("package", name)
    apt("install", "--yes", "--no-install-recommends", "--", *wanted)
    return {"changed": True}


def installed_packages():
    lines = output(["dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\n"]).splitlines()
    return {line.split()[1] for line in lines if line.startswith("ii ")}


def apt(*words):
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=120", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith(("E:", "dpkg:"))]
        raise Failed("package_failed", f"apt-get {words[0]}: {' '.join(said)[-240:] or done.returncode}")
    return done.stdout
