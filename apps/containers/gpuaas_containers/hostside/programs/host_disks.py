"""Keeps a pull from filling the host's disks: checks the free space before and during the pull, and ends it in time."""

import os
import signal
import subprocess
import tempfile
import time

from host_commands import Failed

STORAGE = "/var/lib/containers"
PAUSE = 0.2
MOST_KEPT, KEPT_PART = 1 << 30, 20  # bytes that stay free, or a part of a smaller disk
MOST_FILES_KEPT = 100_000  # files that the disk must still have room for, or the same part
MIB = 1 << 20


def refuse_without_room(folders, size):
    """Refuse a pull without enough space. An image takes its compressed size, and at least as much again when unpacked."""
    for folder in folders:
        disk = os.statvfs(nearest(folder))
        free, kept = disk.f_bavail * disk.f_frsize, kept_bytes(disk)
        if free < 2 * (size or 0) + kept:
            sizes = f"the image has {(size or 0) // MIB} MiB, {free // MIB} MiB are free"
            raise Failed("disk_full", f"{sizes} and {kept // MIB} MiB of them are kept free")


def refuse_filling(folders):
    """Refuse to fill a disk. The unpacked size is not known before: a small image may hold huge files, or millions of them."""
    for folder in folders:
        disk = os.statvfs(nearest(folder))
        if disk.f_bavail * disk.f_frsize < kept_bytes(disk):
            raise Failed("disk_full", "the image is too large for the disk of the host; the pull was stopped")
        if disk.f_files and disk.f_favail < min(MOST_FILES_KEPT, disk.f_files // KEPT_PART):
            raise Failed("disk_full", "the image has too many files for the disk of the host; the pull was stopped")


def kept_bytes(disk):
    return min(MOST_KEPT, disk.f_blocks * disk.f_frsize // KEPT_PART)


def nearest(folder):
    """The folder itself, or the one above it that exists."""
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
