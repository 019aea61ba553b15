"""The parts of an upload in a folder: all of them in one file, each at its place, and an empty file for each that is whole.

Nothing is copied when the last part has come. A part counts when its bytes are on the disk; a process that is killed before
leaves a part that is sent again.
"""

import asyncio
import fcntl
import os
import re
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

from gpuaas_server.artifacts.byte_threads import run_in_thread
from gpuaas_server.artifacts.parts import Layout, Part
from gpuaas_server.kernel.errors import Problem

CONTENT = "content"
# Bytes that may wait in memory for the disk: whoever commits meanwhile, the database above all, waits for them to be written.
UNSYNCED = 8 << 20
_MARK = re.compile("[0-9]{5}")


class DirectoryParts:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._content = folder / CONTENT

    def begin(self) -> None:
        """Make room for the parts. Repeating is safe."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(self._content, os.O_WRONLY | os.O_CREAT, 0o600))

    def received(self, layout: Layout) -> dict[int, int]:
        """Return the sizes of the parts that are whole, by their numbers."""
        names = os.listdir(self._folder) if self._folder.is_dir() else []
        parts = [layout.part(int(name)) for name in names if _MARK.fullmatch(name)]
        return {part.number: part.size_bytes for part in parts if part is not None}

    async def write(self, part: Part, content: AsyncIterator[bytes]) -> None:
        """Write one part. Two that send the same part do not mix: the second is refused."""
        mark = self._folder / f"{part.number:05d}"
        with self._locked_content(fcntl.LOCK_SH) as file, self._sole_writer(part):
            mark.unlink(missing_ok=True)
            await _write_range(file, part, content)
            os.close(os.open(mark, os.O_WRONLY | os.O_CREAT, 0o600))

    @contextmanager
    def _sole_writer(self, part: Part) -> Iterator[None]:
        """Lock the part. The lock ends with the process, however it ends."""
        lock = os.open(self._folder / f"{part.number:05d}.lock", os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise Problem("upload_in_progress", f"Part {part.number} is being sent already.") from None
        finally:
            os.close(lock)

    @contextmanager
    def _locked_content(self, lock: int) -> Iterator[int]:
        """Open the bytes. Writers share the lock, and whoever joins has it alone: nobody changes bytes that were checked."""
        try:
            file = os.open(self._content, os.O_WRONLY)
        except FileNotFoundError:
            raise Problem("conflict", "The upload has ended: its parts are joined or removed.") from None
        try:
            fcntl.flock(file, lock | fcntl.LOCK_NB)
            if not self._is_content(file):
                raise Problem("conflict", "The upload has ended: its parts are joined or removed.")
            yield file
        except BlockingIOError:
            raise Problem("upload_in_progress", "Parts of this upload are being sent or joined just now.") from None
        finally:
            os.close(file)

    def _is_content(self, file: int) -> bool:
        """Tell whether the open file still has its name: one that was moved away is somebody's finished blob."""
        try:
            return os.path.samestat(os.fstat(file), os.stat(self._content))
        except FileNotFoundError:
            return False

    def join(self, layout: Layout, target: Path) -> bool:
        """Move the bytes to their place, if all parts are there and nobody writes. Repeating is safe."""
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._locked_content(fcntl.LOCK_EX):
            if layout.missing(self.received(layout)):
                return False
            self._content.replace(target)
        self.discard()
        return True

    def discard(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._folder.exists():
            raise Problem("storage_unavailable", "The parts of an upload could not be removed.")


async def _write_range(file: int, part: Part, content: AsyncIterator[bytes]) -> None:
    written, unsynced = 0, 0
    async for chunk in content:
        if written + len(chunk) > part.size_bytes:
            raise Problem("invalid_request", f"Part {part.number} has {part.size_bytes} bytes, but more arrived.")
        await run_in_thread(_write_at, file, chunk, part.offset + written)
        written, unsynced = written + len(chunk), unsynced + len(chunk)
        if unsynced >= UNSYNCED:
            await run_in_thread(os.fdatasync, file)
            unsynced = 0
        await asyncio.sleep(0)
    if written != part.size_bytes:
        raise Problem("invalid_request", f"Part {part.number} has {part.size_bytes} bytes, but {written} arrived.")
    await run_in_thread(os.fdatasync, file)


def _write_at(file: int, chunk: bytes, offset: int) -> None:
    rest = memoryview(chunk)
    while rest:
        done = os.pwrite(file, rest, offset)
        rest, offset = rest[done:], offset + done
