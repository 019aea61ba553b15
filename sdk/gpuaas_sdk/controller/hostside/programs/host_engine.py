"""Keeps programs apart that work with the images of a host's container engine, whichever app they belong to.

podman fails to list images while another process removes one, and of two owners of the same image each would leave its
removal to the other. Hold the lock while you list images or remove them, and not while you pull.
"""

import contextlib
import fcntl
import os

LOCK = "/run"  # a folder that is always there, so that no file is left; a shell takes the same lock with `flock /run`


@contextlib.contextmanager
def images_locked():
    """Waits until no other program has the lock. It is given back when the program ends, however it ends."""
    folder = os.open(LOCK, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)
