"""Short-lived commands of the lab machine itself (ip, mount, ssh-keygen …), each with a deadline.

Every command dies with the process that started it, so that nothing is created after clean-up has looked.
"""

import subprocess
from collections.abc import Mapping, Sequence

from gpuaas_lab.errors import CommandFailed, DeadlinePassed

# Nothing of the caller's environment (proxies, virtual environments, tokens) belongs on a host.
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
    timeout: float = 30.0,
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
