"""Which certificate serials an sshd refuses, read back from its revocation list."""

from __future__ import annotations

import re
from pathlib import Path

from gpuaas_agent import commands
from gpuaas_agent.commands import Deadline

_SERIALS = re.compile(r"^serial: (\d+)(?:-(\d+))?$", re.MULTILINE)


def revoked_serials(listing: Path, deadline: Deadline) -> list[tuple[int, int]]:
    """Ranges, both ends included. An empty list is an empty file; a file that is not there raises."""
    if listing.stat().st_size == 0:
        return []
    text = commands.run(["ssh-keygen", "-Q", "-l", "-f", str(listing)], deadline)
    return [(int(first), int(last or first)) for first, last in _SERIALS.findall(text)]
