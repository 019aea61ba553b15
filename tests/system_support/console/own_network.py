"""Start a browser in a network namespace of its own, so that nothing which happens to the machine's interfaces reaches it.

Chromium drops what it is loading (ERR_NETWORK_CHANGED) whenever an address comes or goes on the machine, and every lab
fleet has one. This program becomes the browser that it is given. Before that it leaves a child behind in the machine's
namespace, which relays the browser's connections: a SOCKS 5 proxy whose listening socket was made in the new namespace,
since a socket stays where it was made. The namespace has no name and the child is killed with its parent, so nothing is
left however the browser ends. Where a namespace is not to be had, the browser is started without one.

It needs nothing but the standard library, and is run by `chromium` beside it.
"""

import asyncio
import contextlib
import ctypes
import ipaddress
import os
import signal
import socket
import subprocess
import sys
import traceback

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
PR_SET_PDEATHSIG = 1
PROXY_PORT = 1080  # in a namespace in which nobody else is
# With `lo` alone a browser takes itself for offline (`navigator.onLine`). Both ends of this pair stay in the namespace,
# without addresses of their own making: those would be one more change, a second or two after the start.
INTERFACES = """\
link set lo up
link add steady type veth peer name other
link set steady addrgenmode none
link set other addrgenmode none
addr add 192.0.2.1/24 dev steady
link set steady up
link set other up
"""
SOCKS, CONNECT, GRANTED, REFUSED = 5, 1, 0, 5
IPV4, NAME, IPV6 = 1, 3, 4
ADDRESS_BYTES = {IPV4: 4, IPV6: 16}
CHUNK = 1 << 18

_libc = ctypes.CDLL(None, use_errno=True)


def main(browser: str, arguments: list[str]) -> None:
    """Become the browser, in its own namespace where that is to be had."""
    flags = enter_with_a_relay() if _namespace_is_to_be_had() else ["--no-proxy-server"]
    os.execv(browser, [browser, *flags, *arguments])  # noqa: S606


def enter_with_a_relay() -> list[str]:
    """Enter a new namespace, leave the relay outside, and say what the browser must be told of it."""
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    if os.fork() == 0:
        ours.close()
        _run_relay(theirs, parent)
    theirs.close()
    enter_namespace()
    with ours, socket.create_server(("127.0.0.1", PROXY_PORT), backlog=512) as listener:
        socket.send_fds(ours, [b"."], [listener.fileno()])
    return [f"--proxy-server=socks5://127.0.0.1:{PROXY_PORT}", "--proxy-bypass-list=<-loopback>"]


def _namespace_is_to_be_had() -> bool:
    """Try it in a child first: who has entered half of it cannot go back."""
    child = os.fork()
    if child == 0:
        try:
            enter_namespace()
        except OSError as why:
            print(f"the browser has no network of its own: {why}", file=sys.stderr)
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def enter_namespace() -> None:
    """Move this process into a new network namespace that has an interface which never changes."""
    if os.geteuid() == 0:
        _call("unshare", CLONE_NEWNET)
    else:
        _enter_user_namespace()
    made = subprocess.run(["ip", "-batch", "-"], input=INTERFACES, text=True, capture_output=True, check=False)
    if made.returncode != 0:
        raise OSError(f"ip: {made.stderr.strip()}")


def _enter_user_namespace() -> None:
    """Become root of a user namespace; on the machine, everything is still done by who one was."""
    user, group = os.getuid(), os.getgid()
    _call("unshare", CLONE_NEWUSER | CLONE_NEWNET)
    for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _call(name: str, *arguments: int) -> None:
    if getattr(_libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _run_relay(channel: socket.socket, parent: int) -> None:
    """Serve as the browser's way out until the browser has ended."""
    try:
        _call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL)
        received, sockets, _, _ = socket.recv_fds(channel, 1, 1)
        channel.close()
        if received and os.getppid() == parent:
            _close_inherited(keep=sockets[0])
            asyncio.run(serve(socket.socket(fileno=sockets[0])))
    except Exception:
        traceback.print_exc()
    os._exit(0)


def _close_inherited(keep: int) -> None:
    """Let go of the pipes by which the browser is driven: their end is how everybody knows that it has ended."""
    for entry in os.listdir("/proc/self/fd"):
        if int(entry) not in (1, 2, keep):
            with contextlib.suppress(OSError):
                os.close(int(entry))


async def serve(listener: socket.socket) -> None:
    server = await asyncio.start_server(_relay, sock=listener)
    await server.serve_forever()


async def _relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Connect one of the browser's connections with the machine."""
    with contextlib.suppress(OSError, asyncio.IncompleteReadError), contextlib.closing(writer):
        host, port = await _read_request(reader, writer)
        try:
            back_reader, back_writer = await asyncio.open_connection(host, port)
        except OSError:
            writer.write(_answer(REFUSED))
            return
        writer.write(_answer(GRANTED))
        with contextlib.closing(back_writer):
            await _copy_until_one_ends((reader, back_writer), (back_reader, writer))


async def _read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> tuple[str, int]:
    """Read where to, in the words of RFC 1928, without authentication."""
    _, methods = await reader.readexactly(2)
    await reader.readexactly(methods)
    writer.write(bytes([SOCKS, 0]))
    _, command, _, kind = await reader.readexactly(4)
    if command != CONNECT:
        raise OSError("a browser only connects")
    length = ADDRESS_BYTES.get(kind) or (await reader.readexactly(1))[0]
    address = await reader.readexactly(length)
    host = address.decode() if kind == NAME else str(ipaddress.ip_address(address))
    return host, int.from_bytes(await reader.readexactly(2), "big")


def _answer(code: int) -> bytes:
    return bytes([SOCKS, code, 0, IPV4]) + bytes(6)


async def _copy_until_one_ends(*ways: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    """Copy in both directions: neither a browser nor a server closes one of them and goes on with the other."""
    copies = [asyncio.ensure_future(_copy(source, target)) for source, target in ways]
    _, pending = await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
    for copy in pending:
        copy.cancel()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Pass on what comes until it ends; a connection that broke is broken at the other end too."""
    try:
        while chunk := await source.read(CHUNK):
            target.write(chunk)
            await target.drain()
    except OSError:
        target.transport.abort()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
