"""Small programs that run on the hosts as root, with the host's Python and only its standard library.

Each reads one JSON document and writes one. Each checks the state first and is repeatable. Input never becomes shell text,
and secrets are passed as input, so that no process list shows them. One interpreter on a host runs all programs of an
operation, and programs import rarely needed modules only where they use them: that makes sixteen hosts at a time fast.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from gpuaas_sdk.controller import Failed, Host

PYTHON = "/usr/bin/python3"
SECONDS = 120.0
ProgramInput = Mapping[str, object]


async def run_program(host: Host, program: str, value: ProgramInput, timeout: float = SECONDS) -> dict[str, object]:
    """Runs a program of this folder on the host and returns its answer. Its error text never has a secret in it."""
    [answer] = await run_programs(host, (program, value), timeout=timeout)
    return answer


async def run_programs(
    host: Host, *calls: tuple[str, ProgramInput], timeout: float = SECONDS
) -> list[dict[str, object]]:
    """Runs several programs one after the other with one request: a round trip costs more than most programs."""
    request = [{"name": program, "text": _text(program), "input": value} for program, value in calls]
    command = [PYTHON, "-I", "-S", "-c", _text("run_programs")]
    reply = json.loads(await host.request(command, json.dumps(request), timeout=timeout))
    answers: list[dict[str, object]] = reply["answers"]
    if reply["failed"] is not None:
        program = calls[len(answers)][0]
        raise Failed(f"{program}_failed", f"{program} on {host.address}: {reply['failed'][-300:]}", retryable=True)
    return answers


@cache
def _text(program: str) -> str:
    return files("gpuaas_slurm.hostside").joinpath("programs", f"{program}.py").read_text()
