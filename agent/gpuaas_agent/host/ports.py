"""Lists open ports: listening TCP and bound UDP sockets, from /proc/net."""

from __future__ import annotations

import ipaddress
from pathlib import Path

_LISTEN = "0A"
_UNCONNECTED = "07"


def listening(proc: Path = Path("/proc")) -> set[str]:
    """Return endpoints such as `tcp 0.0.0.0:22`. An unreadable table raises: it does not prove absence."""
    found: set[str] = set()
    for table, state in (("tcp", _LISTEN), ("udp", _UNCONNECTED)):
        for suffix in ("", "6"):
            path = proc / "net" / f"{table}{suffix}"
            if suffix and not path.exists():
                continue  # a kernel without IPv6
            for line in path.read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == state:
                    found.add(f"{table} {_endpoint(fields[1])}")
    return found


def _endpoint(text: str) -> str:
    address, port = text.split(":")
    words = [bytes.fromhex(address[i : i + 8])[::-1] for i in range(0, len(address), 8)]
    packed = b"".join(words)
    host = str(ipaddress.ip_address(packed))
    return f"[{host}]:{int(port, 16)}" if len(packed) == 16 else f"{host}:{int(port, 16)}"
