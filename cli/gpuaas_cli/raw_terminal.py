"""This terminal, given over to one far away: raw keys out, its screen in, its size followed. `~.` hangs up."""

import fcntl
import os
import signal
import struct
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from gpuaas_sdk.terminal import CLOSED, TerminalEnd, TerminalStream

_KEYS = 4096


class Escape:
    """Finds `~.` after a line's beginning, also when the two keys come apart; `~~` is a tilde."""

    def __init__(self) -> None:
        self._at_start = True
        self._tilde = False

    def pass_on(self, keys: bytes) -> tuple[bytes, bool]:
        """What goes to the far side, and whether to hang up."""
        out = bytearray()
        for key in keys:
            if self._tilde:
                self._tilde = False
                if key == ord("."):
                    return bytes(out), True
                out += b"" if key == ord("~") else b"~"
            elif self._at_start and key == ord("~"):
                self._tilde, self._at_start = True, False
                continue
            out.append(key)
            self._at_start = key in b"\r\n"
        return bytes(out), False


def window_size() -> tuple[int, int]:
    """Columns and rows."""
    try:
        rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(sys.stdin, termios.TIOCGWINSZ, bytes(8)))
    except OSError:
        return 80, 24
    return (columns, rows) if columns and rows else (80, 24)


def attach(stream: TerminalStream) -> TerminalEnd:
    """Until the far side ends, or the person hangs up."""
    with _raw(sys.stdin.fileno()), _following(stream):
        threading.Thread(target=_type, args=(stream,), daemon=True).start()
        for data in stream:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
    return stream.end or CLOSED


def _type(stream: TerminalStream) -> None:
    escape = Escape()
    while keys := os.read(sys.stdin.fileno(), _KEYS):
        sent, hang_up = escape.pass_on(keys)
        if sent:
            stream.send(sent)
        if hang_up:
            break
    stream.close()


@contextmanager
def _raw(descriptor: int) -> Iterator[None]:
    """What is no terminal (a pipe, in a script) is left as it is."""
    if not os.isatty(descriptor):
        yield
        return
    before = termios.tcgetattr(descriptor)
    tty.setraw(descriptor)
    try:
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


@contextmanager
def _following(stream: TerminalStream) -> Iterator[None]:
    def tell(number: int, frame: FrameType | None) -> None:
        # A signal comes between any two steps; the stream may be in the middle of a message.
        threading.Thread(target=stream.resize, args=window_size(), daemon=True).start()

    before = signal.signal(signal.SIGWINCH, tell)
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)
