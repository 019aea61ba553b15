"""Small programs that run on the hosts, as root, with the host's own Python and nothing but its standard library.

Each reads one JSON document and writes one; each looks first and may be repeated. What they are told never becomes a
shell's text, and secrets come by the input, so that no list of processes shows them. One interpreter on a host runs all of
an operation, and they import what is seldom needed where it is needed: on sixteen hosts at once that is what counts.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from gpuaas_sdk.controller import Failed, Host

PYTHON = "/usr/bin/python3"
SECONDS = 120.0
Told = Mapping[str, object]


async def ask(host: Host, program: str, told: Told, timeout: float = SECONDS) -> dict[str, object]:
    """Run a program of this folder; its answer. What it says on failing has no secret in it."""
    [answer] = await ask_in_turn(host, (program, told), timeout=timeout)
    return answer


async def ask_in_turn(host: Host, *asked: tuple[str, Told], timeout: float = SECONDS) -> list[dict[str, object]]:
    """Several programs, one after the other, by one question: each way to a host costs more than most of them do."""
    given = [{"name": program, "text": _text(program), "told": told} for program, told in asked]
    said = json.loads(
        await host.request([PYTHON, "-I", "-S", "-c", _text("in_turn")], json.dumps(given), timeout=timeout)
    )
    answers: list[dict[str, object]] = said["answers"]
    if said["failed"] is not None:
        program = asked[len(answers)][0]
        raise Failed(f"{program}_failed", f"{program} on {host.address}: {said['failed'][-300:]}", retryable=True)
    return answers


@cache
def _text(program: str) -> str:
    return files("gpuaas_slurm.hostside").joinpath("programs", f"{program}.py").read_text()
