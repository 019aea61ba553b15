"""The peer of the fan-out: the least an asyncio program does to write the same bytes to every open stream.

`python -m benchmarks.streamer PORT`: a GET opens a stream; the body of a POST goes to all of them as it is.
"""

import asyncio
import sys

import uvloop

_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_DONE = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n"
_streams: list[asyncio.StreamWriter] = []


def _chunk(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return  # somebody only looked whether we are there
    if head.startswith(b"GET "):
        writer.write(_HEAD + _chunk(b": stream open\n\n"))
        _streams.append(writer)
        return
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    body = _chunk(await reader.readexactly(length))
    for stream in _streams:
        stream.write(body)
    writer.write(_DONE)
    writer.close()


async def _main(port: int) -> None:
    async with await asyncio.start_server(_serve, "127.0.0.1", port, backlog=4096) as server:
        await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_main(int(sys.argv[1])))
