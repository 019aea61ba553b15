"""Files that are sent: their size, and a part of one piece by piece."""

from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path

CHUNK = 1 << 20


def size_of(source: Path) -> int:
    return source.stat().st_size


@dataclass(slots=True)
class FileRange:
    """Reads some bytes of a file, piece by piece. A file that has become shorter raises ValueError."""

    source: Path
    offset: int
    size_bytes: int
    _file: FileIO | None = field(default=None, repr=False)

    def read(self, most: int) -> bytes:
        """Return the next bytes, or none at the end. Then the file is closed."""
        if self._file is None:
            self._file = FileIO(self.source)
            self._file.seek(self.offset)
        chunk = self._file.read(min(most, self.size_bytes))
        if self.size_bytes and not chunk:
            self.close()
            raise ValueError(f"{self.source} became shorter while it was sent")
        self.size_bytes -= len(chunk)
        if not chunk:
            self.close()
        return chunk

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
