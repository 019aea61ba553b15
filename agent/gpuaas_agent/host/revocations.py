"""Reads the certificate serials that an sshd refuses from its revocation list."""

from __future__ import annotations

import re
from pathlib import Path

from gpuaas_agent import commands
from gpuaas_agent.commands import Deadline

_SERIALS = re.compile(r"^serial: (\d+)(?:-(\d+))?$", re.MULTILINE)


def revoked_serials(listing: Path, deadline: Deadline) -> list[tuple[int, int]]:
    """Return ranges with both ends included. An empty file is an empty list; a missing file raises."""
    if listing.stat().st_size == 0:
        return []
    text = commands.run(["ssh-keygen", "-Q", "-l", "-f", str(listing)], deadline)
    return [(int(first), int(last or first)) for first, last in _SERIALS.findall(text)]
