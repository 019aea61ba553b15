"""Texts that a host's own Python runs as root. They use its standard library alone and need Python 3.8 or newer.

A request is one line of JSON and so is its answer. Secrets come as input, so that no process list shows them.
"""

import json
from functools import cache
from importlib.resources import files

from gpuaas_containers.failures import host_failure
from gpuaas_sdk.controller import Host, host_program

SECONDS = 120.0
_MODULES = (
    "host_commands",
    "host_units",
    "host_probes",
    "host_facts",
    "host_disks",
    "host_registry",
    "host_signatures",
    "host_images",
    "host_secrets",
    "host_documents",
    "host_removal",
)  # as they import


async def ask_host(host: Host, action: str, /, timeout: float = SECONDS, **request: object) -> dict[str, object]:
    """Run an action on the host and return its answer. Raises Failed with the code that the host gave."""
    line = json.dumps({"action": action, **request})
    reply = json.loads(await host.request(program_command(), line, timeout=timeout))
    done, failed = (reply.get("done"), reply.get("failed")) if isinstance(reply, dict) else (None, None)
    if isinstance(done, dict):
        return done
    told = failed if isinstance(failed, dict) else {}
    raise host_failure(host.address, told.get("code"), told.get("message"), told.get("lines"))


@cache
def program_command() -> list[str]:
    """Returns the command that starts the program on a host. It reads requests until its input ends."""
    return command_of(_text("container_host"))


def command_of(main: str) -> list[str]:
    """Return the command that runs this text, with the modules of this folder to import."""
    return host_program(main, {name: _text(name) for name in _MODULES})


def _text(name: str) -> str:
    return files(__name__).joinpath("programs", f"{name}.py").read_text()
