"""Runs units with the files that there are now: started when they do not run, restarted when they run with older files.

    {"stamps": folder, "units": [{"name", "files": [path], "listens": port | null, "afresh": bool}]}

What a daemon was started with is written down beside it, so that a crash between a new file and the restart is seen.
"""

import hashlib
import json
import os
import socket
import struct
import subprocess
import sys
import time

LONGEST, LOOK_AGAIN = 30.0, 0.25
DIAG_FAMILY, DIAG_DUMP, LISTEN = 20, 0x301, 10  # of linux/sock_diag.h, netlink.h and tcp_states.h


def systemctl(*arguments):
    return subprocess.run(["systemctl", *arguments], capture_output=True, text=True, check=False)


def known(names):
    """What systemd knows of units, by name."""
    shown = systemctl("show", "--property=Id,ActiveState,UnitFileState,NeedDaemonReload", *names).stdout.split("\n\n")
    found = [dict(line.split("=", 1) for line in block.splitlines()) for block in shown if block.strip()]
    return {one["Id"]: one for one in found}


def fingerprint(paths):
    seen = hashlib.sha256()
    for path in paths:
        try:
            with open(path, "rb") as there:
                seen.update(there.read())
        except FileNotFoundError:
            seen.update(b"absent")
    return seen.hexdigest()


def listening():
    """The ports. Asked of the kernel, for those alone: its tables in /proc have every connection of the machine."""
    ports = set()
    for family in (socket.AF_INET, socket.AF_INET6):
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as kernel:  # NETLINK_SOCK_DIAG
            wanted = struct.pack("=BBBxI48x", family, socket.IPPROTO_TCP, 0, 1 << LISTEN)
            kernel.send(struct.pack("=IHHII", 16 + len(wanted), DIAG_FAMILY, DIAG_DUMP, 1, 0) + wanted)
            more = True
            while more:
                found, more = part(kernel.recv(1 << 16))
                ports |= found
    return ports


def part(message):
    """The ports that one message of the kernel names, and whether more come: the end may stand behind them, or alone."""
    ports = set()
    while len(message) >= 16:
        length, kind = struct.unpack_from("=IH", message)
        if kind != DIAG_FAMILY:
            return ports, False
        ports.add(struct.unpack_from("!H", message, 20)[0])
        message = message[(length + 3) & ~3 :]
    return ports, True


def stamp(unit):
    return os.path.join(told["stamps"], unit["name"])


def stale(unit, state):
    """Whether it does not run, or runs with other files than there are."""
    try:
        with open(stamp(unit)) as there:
            before = there.read()
    except FileNotFoundError:
        before = ""
    return state != "active" or before != prints[unit["name"]] or unit.get("afresh")


def give_up(name, why):
    log = subprocess.run(
        ["journalctl", "-u", name, "-n", "5", "-o", "cat", "--no-pager"], capture_output=True, text=True
    )
    sys.exit(f"{name} {why}: {' / '.join(log.stdout.split(chr(10))).strip()[-240:]}")


def restart(names):
    """Who was started too often lately is refused, and refused no more when that is forgotten."""
    if systemctl("restart", *names).returncode == 0:
        return
    systemctl("reset-failed", *names)
    if systemctl("restart", *names).returncode != 0:
        for name, one in known(names).items():
            if one["ActiveState"] != "active":
                give_up(name, "does not start")


def settle(units):
    """They run, and answer where they should; a daemon that dies within its first moments is seen."""
    names, ports = [unit["name"] for unit in units], {unit["listens"] for unit in units if unit.get("listens")}
    deadline, look = time.monotonic() + LONGEST, 0.0
    while time.monotonic() < deadline:
        answers = ports <= listening()
        if answers or time.monotonic() > look:
            states = {name: one["ActiveState"] for name, one in known(names).items()}
            for name, state in states.items():
                if state in ("failed", "inactive"):
                    give_up(name, f"is {state}")
            if answers and set(states.values()) == {"active"}:
                return
            look = time.monotonic() + LOOK_AGAIN
        time.sleep(0.02)
    missing = ports - listening()
    late = [unit["name"] for unit in units if states[unit["name"]] != "active" or unit.get("listens") in missing]
    give_up((late or names)[0], "does not come up")


told = json.load(sys.stdin)
os.makedirs(told["stamps"], exist_ok=True)
names = [unit["name"] for unit in told["units"]]
seen = known(names)
# To read all units of a host again is dear: only where it runs one by an older file.
if any(one["NeedDaemonReload"] == "yes" for one in seen.values()):
    systemctl("daemon-reload")
if any(one["UnitFileState"] != "enabled" for one in seen.values()):
    systemctl("enable", "--quiet", "--no-reload", *names)
prints = {unit["name"]: fingerprint(unit["files"]) for unit in told["units"]}
restarted = [unit["name"] for unit in told["units"] if stale(unit, seen[unit["name"]]["ActiveState"])]
if restarted:
    restart(restarted)
settle(told["units"])
for unit in told["units"]:
    with open(stamp(unit), "w") as there:
        there.write(prints[unit["name"]])
json.dump({"restarted": restarted}, sys.stdout)
