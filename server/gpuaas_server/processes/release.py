"""A process that its supervisor holds back until the database is prepared: it listens, and says what it waits for."""

import asyncio
import os
import sys
from collections.abc import Callable


async def await_release(say: Callable[[str], None]) -> None:
    """Read standard input until an empty line. Other lines say what to wait for; at its end, this process exits."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    # A pipe of our own: closing the transport must not close standard input.
    pipe = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        while (line := await reader.readline()) != b"\n":
            if not line:
                raise SystemExit(0)
            say(line.decode(errors="replace").strip())
    finally:
        transport.close()
