"""Runs and stops systemd units."""

import contextlib
import hashlib
import os
import socket
import subprocess
import time

from host_files import Failed, file_digest, is_same_file, output, run, write_file

UNIT_FILES = "/etc/systemd/system"


def unit(record, request):
    """Runs the unit with its current files. It is restarted if it was started with others, also by an earlier attempt."""
    name, path = request["name"], file_of(request["name"])
    if name not in record.names("unit"):
        if os.path.lexists(path):
            raise Failed("unit_taken", f"{name} exists and was not installed by this instance")
        record.add("unit", name)
    text = request["text"].encode()
    if not is_same_file(path, hashlib.sha256(text).hexdigest(), 0o644, (0, 0)):
        write_file(path, text, 0o644, (0, 0))
        run(["systemctl", "daemon-reload"], "unit_failed")
    wanted = fingerprint([path, *request["files"]])
    stale = request["restart"] or record.started.get(name) != wanted or not is_active(name)
    run(["systemctl", "enable", "--quiet", name], "unit_failed")
    if stale:
        record.started.pop(name, None)
        record.save()
        subprocess.run(["systemctl", "reset-failed", name], capture_output=True)
        if subprocess.run(["systemctl", "restart", name], capture_output=True).returncode != 0:
            raise unit_failed(name, "does not start")
    wait_listening(name, request["listens"], request["seconds"])
    record.started[name] = wanted
    record.save()
    return {"changed": stale}


def file_of(name):
    return os.path.join(UNIT_FILES, name)


def fingerprint(paths):
    seen = hashlib.sha256()
    for path in paths:
        seen.update(path.encode() + b"\0")
        with contextlib.suppress(FileNotFoundError):
            seen.update(file_digest(path).encode())
    return seen.hexdigest()


def is_active(name):
    return subprocess.run(["systemctl", "is-active", "--quiet", name]).returncode == 0


def wait_listening(name, ports, seconds):
    deadline = time.monotonic() + seconds
    for port in ports:
        while not answers(port):
            state = output(["systemctl", "show", "--value", "--property=ActiveState", name]).strip()
            if state not in ("active", "activating", "reloading"):
                raise unit_failed(name, f"is {state}")
            if time.monotonic() > deadline:
                raise unit_failed(name, f"does not listen on port {port}")
            time.sleep(0.1)
    if not ports and not is_active(name):
        raise unit_failed(name, "has ended")


def answers(port):
    for address in ("127.0.0.1", "::1"):
        with contextlib.suppress(OSError), socket.create_connection((address, port), 1):
            return True
    return False


def unit_failed(name, why):
    lines = output(["journalctl", "-u", name, "-n", "5", "-o", "cat", "--no-pager"]).split("\n")
    return Failed("unit_failed", f"{name} {why}: {' / '.join(lines).strip(' /')[-240:]}")


def stop_unit(record, request):
    stop_units([request["name"]])
    if record.started.pop(request["name"], None) is not None:
        record.save()
    return {}


def stop_units(names):
    """Stops the units. One that does not exist is stopped already."""
    for name in names:
        for words in (["disable", "--now", "--quiet"], ["stop"], ["reset-failed"]):
            subprocess.run(["systemctl", *words, name], capture_output=True)
    still = [name for name in names if is_active(name)]
    if still:
        raise Failed("unit_failed", f"{still[0]} does not stop")
