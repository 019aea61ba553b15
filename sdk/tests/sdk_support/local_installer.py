"""The installer of hosts, run on this machine with its records in a folder of the test."""

import asyncio
import os
import pwd
import sys
from asyncio.subprocess import PIPE
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gpuaas_sdk.controller import Failed
from gpuaas_sdk.controller.host_installer import HostInstaller
from gpuaas_sdk.controller.hostside import installer_command

ME = pwd.getpwuid(os.getuid()).pw_name
RECORDS = "/var/lib/gpuaas-apps"


def command_for(records: Path) -> list[str]:
    """The installer as hosts run it, with its records in a folder of the test."""
    *words, text = installer_command()
    assert RECORDS in text
    return [sys.executable, *words[1:], text.replace(RECORDS, str(records))]


class LocalInstaller(HostInstaller):
    """An installer whose host is this machine. `first` is code that its program runs before its own."""

    def __init__(self, records: Path, instance_id: str = "ins_one", first: str = "") -> None:
        super().__init__("here", {"GPUAAS_INSTANCE": instance_id})
        self.records, self.first = records, first

    async def request(self, argv: Sequence[str], line: str, *, timeout: float) -> str:
        *words, text = command_for(self.records)
        child = await asyncio.create_subprocess_exec(*words, self.first + text, stdin=PIPE, stdout=PIPE)
        out, _ = await asyncio.wait_for(child.communicate(f"{line}\n".encode()), timeout)
        return out.decode()


async def refused(call: Any) -> str:
    with pytest.raises(Failed) as failed:
        await call
    return failed.value.failure.code
