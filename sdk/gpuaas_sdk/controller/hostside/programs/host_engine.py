"""Keeps programs apart that work with the images of a host's container engine, whichever app they belong to.

podman fails to list images while another process removes one, and of two owners of the same image each would leave its
removal to the other. Hold the lock while you list images or remove them, and not while you pull.
"""

import contextlib
import fcntl
import os
import time

LOCK = "/run"  # a folder that is always there, so that no file is left; a shell takes the same lock with `flock /run`
LOCK_SECONDS = 300.0  # an image may have many gigabytes to remove
PAUSE = 0.05


class LockTimeout(Exception):
    """Raised when another program has had a lock for too long."""


@contextlib.contextmanager
def images_locked(seconds=LOCK_SECONDS):
    """Waits until no other program has the lock. It is given back when the program ends, however it ends. Raises LockTimeout
    if that takes longer than `seconds`.
    """
    folder = os.open(LOCK, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        lock_until(folder, time.monotonic() + seconds)
        yield
    finally:
        os.close(folder)


def lock_until(file, deadline):
    """Lock an open file or folder. Raises LockTimeout if another program still has the lock at the deadline."""
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise LockTimeout from None
        time.sleep(PAUSE)
