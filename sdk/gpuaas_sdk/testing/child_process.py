"""Binds a process that a test starts to the process of the test, so that a killed run leaves no server and no agents behind."""

import os
import shutil
import threading

# The signal comes only for a parent that ends later, so the child looks whether it is still there.
_UNLESS_ORPHANED = '[ "$PPID" -eq "$0" ] && exec "$@"'


def ending_with_test(command: list[str]) -> list[str]:
    """Return the command so that SIGTERM reaches it when this process ends, even by kill -9.

    The kernel sends it when the *thread* that started the child ends, so a child of a side thread is not bound. Where there is
    no `setpriv` (util-linux), nothing is bound.
    """
    setpriv = shutil.which("setpriv")
    if setpriv is None or threading.current_thread() is not threading.main_thread():
        return command
    return [setpriv, "--pdeathsig", "TERM", "--", "sh", "-c", _UNLESS_ORPHANED, str(os.getpid()), *command]
