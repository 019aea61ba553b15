"""Runs units with their current files: starts those that do not run, and restarts those that run with older files.

    {"stamps": folder, "units": [{"name", "files": [path], "listens": port | null, "restart": bool}]}

The fingerprint of the files with which a daemon was started is recorded, so that a crash before a restart is noticed.
"""

import hashlib
import json
import os
import socket
import struct
import subprocess
import sys
import time

MAX_SECONDS, CHECK_SECONDS = 30.0, 0.25
DIAG_FAMILY, DIAG_DUMP, LISTEN = 20, 0x301, 10  # of linux/sock_diag.h, netlink.h and tcp_states.h


def systemctl(*arguments):
    return subprocess.run(["systemctl", *arguments], capture_output=True, text=True, check=False)


def known(names):
    """Returns the state of the units in systemd, by name."""
    shown = systemctl("show", "--property=Id,ActiveState,UnitFileState,NeedDaemonReload", *names).stdout.split("\n\n")
    found = [dict(line.split("=", 1) for line in block.splitlines()) for block in shown if block.strip()]
    return {one["Id"]: one for one in found}


def fingerprint(paths):
    seen = hashlib.sha256()
    for path in paths:
        try:
            with open(path, "rb") as file:
                seen.update(file.read())
        except FileNotFoundError:
            seen.update(b"absent")
    return seen.hexdigest()


def listening():
    """Returns the ports on which something listens. The kernel is asked for these alone: /proc lists every connection."""
    ports = set()
    for family in (socket.AF_INET, socket.AF_INET6):
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as kernel:  # NETLINK_SOCK_DIAG
            wanted = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, 0, 1 << LISTEN)
            kernel.send(struct.pack("=IHHII", 16 + len(wanted), DIAG_FAMILY, DIAG_DUMP, 1, 0) + wanted)
            more = True
            while more:
                found, more = parse_message(kernel.recv(1 << 16))
                ports |= found
    return ports


def parse_message(message):
    """Returns the ports in one message of the kernel, and whether more messages follow."""
    ports = set()
    while len(message) >= 16:
        length, kind = struct.unpack_from("=IH", message)
        if kind != DIAG_FAMILY:
            return ports, False
        ports.add(struct.unpack_from("!H", message, 20)[0])
        message = message[(length + 3) & ~3 :]
    return ports, True


def stamp(unit):
    return os.path.join(request["stamps"], unit["name"])


def stale(unit, state):
    """Tells whether the unit does not run, or runs with older files."""
    try:
        with open(stamp(unit)) as file:
            before = file.read()
    except FileNotFoundError:
        before = ""
    return state != "active" or before != prints[unit["name"]] or unit.get("restart")


def give_up(name, why):
    log = subprocess.run(
        ["journalctl", "-u", name, "-n", "5", "-o", "cat", "--no-pager"], capture_output=True, text=True
    )
    sys.exit(f"{name} {why}: {' / '.join(log.stdout.split(chr(10))).strip()[-240:]}")


def restart(names):
    """Restarts units. systemd refuses units that were started too often; reset-failed clears that."""
    if systemctl("restart", *names).returncode == 0:
        return
    systemctl("reset-failed", *names)
    if systemctl("restart", *names).returncode != 0:
        for name, one in known(names).items():
            if one["ActiveState"] != "active":
                give_up(name, "does not start")


def wait_running(units):
    """Waits until the units run and listen. A daemon that dies soon after its start is noticed."""
    names, ports = [unit["name"] for unit in units], {unit["listens"] for unit in units if unit.get("listens")}
    deadline, look = time.monotonic() + MAX_SECONDS, 0.0
    while time.monotonic() < deadline:
        answers = ports <= listening()
        if answers or time.monotonic() > look:
            states = {name: one["ActiveState"] for name, one in known(names).items()}
            for name, state in states.items():
                if state in ("failed", "inactive"):
                    give_up(name, f"is {state}")
            if answers and set(states.values()) == {"active"}:
                return
            look = time.monotonic() + CHECK_SECONDS
        time.sleep(0.02)
    missing = ports - listening()
    late = [unit["name"] for unit in units if states[unit["name"]] != "active" or unit.get("listens") in missing]
    give_up((late or names)[0], "does not come up")


request = json.load(sys.stdin)
os.makedirs(request["stamps"], exist_ok=True)
names = [unit["name"] for unit in request["units"]]
seen = known(names)
# A reload of all units is expensive, so only if one runs with an older file.
if any(one["NeedDaemonReload"] == "yes" for one in seen.values()):
    systemctl("daemon-reload")
if any(one["UnitFileState"] != "enabled" for one in seen.values()):
    systemctl("enable", "--quiet", "--no-reload", *names)
prints = {unit["name"]: fingerprint(unit["files"]) for unit in request["units"]}
restarted = [unit["name"] for unit in request["units"] if stale(unit, seen[unit["name"]]["ActiveState"])]
if restarted:
    restart(restarted)
wait_running(request["units"])
for unit in request["units"]:
    with open(stamp(unit), "w") as file:
        file.write(prints[unit["name"]])
json.dump({"restarted": restarted}, sys.stdout)
