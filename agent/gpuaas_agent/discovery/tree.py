"""Reads small files of a sysfs tree that may be damaged; bad content never raises."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

_LARGEST = 1 << 20
_NUMBER = re.compile(r"^-?(0x)?[0-9a-fA-F]{1,16}$")


@dataclass(frozen=True)
class HardwareWarning:
    code: str
    path: str
    message: str

    def wire(self) -> dict[str, object]:
        return {"code": self.code, "path": self.path, "message": self.message}


@dataclass
class HardwareTree:
    """`root` is `/` for real hardware, or a folder with `sys/` and optionally `nvml.json`."""

    root: Path
    warnings: list[HardwareWarning] = field(default_factory=list)

    def sys(self, *parts: str) -> Path:
        return self.root.joinpath("sys", *parts)

    def warn(self, code: str, path: Path, message: str) -> None:
        self.warnings.append(HardwareWarning(code, str(path), message[:200]))

    def text(self, path: Path, *, optional: bool = False) -> str | None:
        """Return the file's text without its last newline, or None with a warning if it cannot be read."""
        try:
            # Reading a pipe or a device in place of the file would block forever.
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise ValueError("not a regular file")
            with path.open("rb") as file:
                data = file.read(_LARGEST + 1)
            if len(data) > _LARGEST:
                raise ValueError("too long")
            return data.decode("ascii").strip()
        except FileNotFoundError:
            if not optional:
                self.warn("hw_file_missing", path, "the file does not exist")
        except (OSError, ValueError) as problem:
            self.warn("hw_file_unreadable", path, str(problem))
        return None

    def integer(self, path: Path, *, base: int = 10, optional: bool = False) -> int | None:
        text = self.text(path, optional=optional)
        if text is None:
            return None
        if not _NUMBER.match(text) or (base == 10 and not text.lstrip("-").isdigit()):
            self.warn("hw_value_malformed", path, f"{text[:40]!r} is not a number")
            return None
        return int(text, base)

    def names(self, folder: Path) -> list[str]:
        try:
            return sorted(os.listdir(folder))
        except FileNotFoundError:
            return []
        except OSError as problem:
            self.warn("hw_folder_unreadable", folder, str(problem))
            return []

    def link_name(self, path: Path) -> str | None:
        """Return the last part of a symbolic link's target, for example the driver's name."""
        try:
            return Path(os.readlink(path)).name
        except OSError:
            return None
