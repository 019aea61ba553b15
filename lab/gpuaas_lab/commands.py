"""Runs short commands of the lab machine itself (ip, mount, ssh-keygen …), each with a deadline.

Every command ends with the process that started it, so that nothing is created after a clean-up.
"""

import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence

from gpuaas_lab.errors import CommandFailed, DeadlinePassed

# A host gets nothing of the caller's environment (proxies, virtual environments, tokens).
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
}


def execute(
    argv: Sequence[str],
    *,
    text: str | None = None,
    check: bool = True,
    timeout: float = 60.0,
    environment: Mapping[str, str] = ENVIRONMENT,
) -> subprocess.CompletedProcess[str]:
    """Run one command; stdin is `text` or empty."""
    try:
        done = subprocess.run(
            ["setpriv", "--pdeathsig", "KILL", "--", *argv],
            input=text or "",
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            env=dict(environment),
        )
    except subprocess.TimeoutExpired as late:
        raise DeadlinePassed(f"{' '.join(argv)!r} did not end within {timeout:g} s") from late
    if check and done.returncode != 0:
        raise CommandFailed(list(argv), done.returncode, done.stdout + done.stderr)
    return done


def follow(
    argv: Sequence[str],
    hear: Callable[[str], None],
    timeout: float,
    environment: Mapping[str, str] = ENVIRONMENT,
) -> None:
    """Run a long command and pass on each line of its output."""
    with subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "--", *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=dict(environment),
    ) as running:
        late = threading.Timer(timeout, running.kill)
        late.start()
        last_words: list[str] = []
        try:
            for line in running.stdout or ():
                last_words = [*last_words[-9:], line.strip()]
                hear(line.strip())
        finally:
            expired = not late.is_alive()
            late.cancel()
    if expired:
        raise DeadlinePassed(f"{argv[0]} did not end within {timeout:g} s; last: {last_words[-1:]}")
    if running.returncode != 0:
        raise CommandFailed(list(argv), running.returncode, "\n".join(last_words))
