"""Small programs that run on the hosts, as root, with the host's own Python and nothing but its standard library.

Each reads one JSON document and writes one; each looks first and may be repeated. What they are told never becomes a
shell's text, and secrets come by the input, so that no list of processes shows them.
"""

import json
from collections.abc import Mapping
from importlib.resources import files

from gpuaas_sdk.controller import Failed, Host

PYTHON = "/usr/bin/python3"
SECONDS = 120.0


async def ask(host: Host, program: str, told: Mapping[str, object], timeout: float = SECONDS) -> dict[str, object]:
    """Run a program of this folder; its answer. What it says on failing has no secret in it."""
    text = files("gpuaas_slurm.hostside").joinpath("programs", f"{program}.py").read_text()
    given = json.dumps(told)
    ran = await host.sudo([PYTHON, "-I", "-c", text], check=False, stdin=given, timeout=timeout)
    if not ran.ok:
        said = ran.err.strip().splitlines()[-1:] or [f"ended with {ran.status}"]
        raise Failed(f"{program}_failed", f"{program} on {host.address}: {said[0][-300:]}", retryable=True)
    answer: dict[str, object] = json.loads(ran.out)
    return answer
