"""The PROXY protocol, versions 1 and 2: a load balancer names the client at the start of a connection.

Only the bytes of the header are taken from the socket, so that TLS or HTTP begins right behind it.
"""

import asyncio
import socket
import struct
from ipaddress import IPv4Address, IPv6Address

from gpuaas_server.kernel.networks import normal_address

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
LONGEST_LINE = 107
LONGEST_BLOCK = 4096
_LOCAL, _PROXY = 0x20, 0x21
_TCP4, _TCP6 = 0x11, 0x21
_FAMILIES_WITHOUT_ADDRESS = (0x00, 0x31)  # unspecified, and a stream over a Unix socket

Client = tuple[str, int]


class ProxyHeaderInvalid(Exception):
    """The connection does not begin with a valid PROXY header."""


async def read_proxy_header(sock: socket.socket) -> Client | None:
    """Return the client that the balancer names; None when the connection is its own, such as a health check."""
    start = await _exactly(sock, len(SIGNATURE))
    if start == SIGNATURE:
        return await _read_block(sock)
    if start.startswith(b"PROXY "):
        return parse_line(await _read_line(sock, start))
    raise ProxyHeaderInvalid("no PROXY header")


async def _read_line(sock: socket.socket, line: bytes) -> bytes:
    while not line.endswith(b"\r\n"):
        if len(line) >= LONGEST_LINE:
            raise ProxyHeaderInvalid("the line does not end")
        line += await _exactly(sock, 1)
    return line[:-2]


async def _read_block(sock: socket.socket) -> Client | None:
    command, family, length = struct.unpack("!BBH", await _exactly(sock, 4))
    if length > LONGEST_BLOCK:
        raise ProxyHeaderInvalid("the block is too long")
    return parse_block(command, family, await _exactly(sock, length))


async def _exactly(sock: socket.socket, count: int) -> bytes:
    loop, taken = asyncio.get_running_loop(), b""
    while len(taken) < count:
        more = await loop.sock_recv(sock, count - len(taken))
        if not more:
            raise ProxyHeaderInvalid("the connection ended inside the header")
        taken += more
    return taken


def parse_line(line: bytes) -> Client | None:
    """Parse version 1, without its line end: PROXY TCP4 <source> <destination> <source port> <destination port>."""
    words = line.split(b" ")
    if words[:2] == [b"PROXY", b"UNKNOWN"]:
        return None
    if len(words) != 6 or words[1] not in (b"TCP4", b"TCP6"):
        raise ProxyHeaderInvalid("the line has another form")
    kind = IPv4Address if words[1] == b"TCP4" else IPv6Address
    try:
        source, _ = kind(words[2].decode("ascii")), kind(words[3].decode("ascii"))
    except ValueError:
        raise ProxyHeaderInvalid("an address is none") from None
    source_port, _ = _port(words[4]), _port(words[5])
    return normal_address(str(source)), source_port


def _port(word: bytes) -> int:
    if not word.isdigit() or len(word) > 5 or int(word) > 65_535:
        raise ProxyHeaderInvalid("a port is none")
    return int(word)


def parse_block(command: int, family: int, block: bytes) -> Client | None:
    """Parse version 2, behind its signature. Additional fields behind the addresses are ignored."""
    if command == _LOCAL:
        return None
    if command != _PROXY:
        raise ProxyHeaderInvalid("an unknown version or command")
    if family in _FAMILIES_WITHOUT_ADDRESS:
        return None
    if family not in (_TCP4, _TCP6):
        raise ProxyHeaderInvalid("an unknown family")
    size = 4 if family == _TCP4 else 16
    if len(block) < 2 * size + 4:
        raise ProxyHeaderInvalid("the addresses are cut off")
    source = IPv4Address(block[:size]) if family == _TCP4 else IPv6Address(block[:size])
    return normal_address(str(source)), int(struct.unpack_from("!H", block, 2 * size)[0])
