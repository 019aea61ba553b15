"""Runs the programs of a build. They end with it, also when it is killed: the next build removes what they were filling."""

import subprocess
from collections.abc import Mapping, Sequence

from gpuaas_catalogue.images.errors import BuildFailed
from gpuaas_sdk.child_process import end_with_parent

# Children of a program end with it as well, and it leaves no mount.
_ISOLATED = ("unshare", "--mount", "--pid", "--fork", "--kill-child")


def run_program(
    argv: Sequence[str], seconds: float, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program without children of its own, and return how it ended. Raises BuildFailed when the time is over."""
    return _run(argv, argv[0], seconds, environment)


def run_isolated(
    argv: Sequence[str], seconds: float, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program that starts others, as root: none of them outlives it. Raises BuildFailed when the time is over."""
    return _run([*_ISOLATED, *argv], argv[0], seconds, environment)


def _run(
    argv: Sequence[str], name: str, seconds: float, environment: Mapping[str, str] | None
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            argv,
            capture_output=True,
            text=True,
            timeout=seconds,
            env=environment,
            check=False,
            preexec_fn=end_with_parent(),
        )
    except subprocess.TimeoutExpired:
        message = f"{name} did not end in {seconds:g} s."
        raise BuildFailed(message, "Build again when the machine is less busy.") from None
