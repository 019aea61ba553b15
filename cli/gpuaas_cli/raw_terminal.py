"""Connects this terminal to a remote one: sends raw keys and window sizes, prints output. `~.` disconnects."""

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
    """Detects `~.` at the start of a line, even if the two keys arrive separately; `~~` is a tilde."""

    def __init__(self) -> None:
        self._at_start = True
        self._tilde = False

    def filter_keys(self, keys: bytes) -> tuple[bytes, bool]:
        """Return the keys to send, and whether to disconnect."""
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
    """Return columns and rows."""
    try:
        rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(sys.stdin, termios.TIOCGWINSZ, bytes(8)))
    except OSError:
        return 80, 24
    return (columns, rows) if columns and rows else (80, 24)


def attach(stream: TerminalStream) -> TerminalEnd:
    """Run until the remote side ends or the person disconnects."""
    with _raw(sys.stdin.fileno()), _resizing(stream):
        threading.Thread(target=_send_keys, args=(stream,), daemon=True).start()
        for data in stream:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
    return stream.end or CLOSED


def _send_keys(stream: TerminalStream) -> None:
    escape = Escape()
    while keys := os.read(sys.stdin.fileno(), _KEYS):
        sent, hang_up = escape.filter_keys(keys)
        if sent:
            stream.send(sent)
        if hang_up:
            break
    stream.close()


@contextmanager
def _raw(descriptor: int) -> Iterator[None]:
    """Put a terminal into raw mode; a pipe is left as it is."""
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
def _resizing(stream: TerminalStream) -> Iterator[None]:
    def send_size(number: int, frame: FrameType | None) -> None:
        # A signal handler must not use the stream itself: it may be in the middle of a message.
        threading.Thread(target=stream.resize, args=window_size(), daemon=True).start()

    before = signal.signal(signal.SIGWINCH, send_size)
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)
