"""Binds a child process to its parent: it ends with the parent, even when that one is killed."""

import ctypes
import os
import signal
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1


def end_with_parent(number: signal.Signals = signal.SIGKILL, own_group: bool = False) -> Callable[[], None]:
    """Return a function for `preexec_fn`, or for a fork to call first: the child gets the signal when its parent ends.

    With `own_group`, the terminal's Ctrl-C reaches the parent alone, which stops its children in order. The kernel clears the
    bond when a process changes its user, so a child that does so calls the function afterwards.
    """
    libc, parent = ctypes.CDLL(None), os.getpid()

    def bind() -> None:
        if own_group:
            os.setpgid(0, 0)
        libc.prctl(_PR_SET_PDEATHSIG, number)
        if os.getppid() != parent:  # it ended before the signal was set: nothing would end this child
            os._exit(1)

    return bind
