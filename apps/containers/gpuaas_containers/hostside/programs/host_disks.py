"""Keeps a pull from filling the host's disks: checks the free space before and during the pull, and ends it in time."""

import os
import signal
import subprocess
import tempfile
import time

from host_commands import Failed
from host_room import bytes_left, files_left, free_bytes, kept_bytes

STORAGE = "/var/lib/containers"
PAUSE = 0.2
MIB = 1 << 20


def refuse_without_room(folders, size):
    """Refuse a pull without enough space. An image takes its compressed size, and at least as much again when unpacked."""
    for folder in folders:
        disk = os.statvfs(nearest(folder))
        if bytes_left(disk) < 2 * (size or 0):
            sizes = f"the image has {(size or 0) // MIB} MiB, {free_bytes(disk) // MIB} MiB are free"
            raise Failed("disk_full", f"{sizes} and {kept_bytes(disk) // MIB} MiB of them are kept free")


def refuse_filling(folders):
    """Refuse to fill a disk. The unpacked size is not known before: a small image may hold huge files, or millions of them."""
    for folder in folders:
        disk = os.statvfs(nearest(folder))
        files = files_left(disk)
        if bytes_left(disk) < 0:
            raise Failed("disk_full", "the image is too large for the disk of the host; the pull was stopped")
        if files is not None and files < 0:
            raise Failed("disk_full", "the image has too many files for the disk of the host; the pull was stopped")


def nearest(folder):
    """Returns the folder itself, or the one above it that exists."""
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


def run_watched(command, seconds, check, **more):
    """Run a program and call `check` meanwhile. If `check` raises or the time is over, the program and its children end.
    Returns its status and what it wrote to its error output.
    """
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True, **more
        )
        deadline = time.monotonic() + seconds
        try:
            while not has_ended(process):
                check()
                if time.monotonic() > deadline:
                    raise subprocess.TimeoutExpired(command, seconds)
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        said.seek(0)
        return process.returncode, said.read().decode(errors="replace")


def has_ended(process):
    try:
        process.wait(PAUSE)
    except subprocess.TimeoutExpired:
        return False
    return True
