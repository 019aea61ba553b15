"""The files of the built console, read once: a request looks up a name in a dictionary, and no path reaches the disk."""

import hashlib
import mimetypes
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from gpuaas_server.kernel.dataclass import dataclass

# What compression makes stands beside the file, written when the console was built.
ENCODINGS = {"br": ".br", "gzip": ".gz"}
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".woff2": "font/woff2", ".svg": "image/svg+xml"}
_REFUSED = re.compile(r"q\s*=\s*0(\.0*)?")
_HASHED = "/assets/"  # names there change with what is in them


@dataclass(frozen=True, slots=True)
class Representation:
    body: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class ConsoleFile:
    media_type: str
    plain: Representation
    encoded: Mapping[str, Representation]
    changes: bool  # or stays as it is under this name for ever

    def best(self, accepted: str) -> tuple[str, Representation]:
        """Return the best encoding that the request accepts, and its bytes. An encoding with q=0 is not used."""
        offers = dict(_offer(part) for part in accepted.lower().split(",")) if self.encoded else {}
        for encoding, representation in self.encoded.items():
            if offers.get(encoding, offers.get("*", False)):
                return encoding, representation
        return "", self.plain


@dataclass(frozen=True, slots=True)
class Console:
    """The built console. `page` is index.html, for every path that is a page's; None: the console was not built."""

    files: Mapping[str, ConsoleFile]
    page: str | None


def _offer(part: str) -> tuple[str, bool]:
    encoding, _, quality = part.partition(";")
    return encoding.strip(), _REFUSED.fullmatch(quality.strip()) is None


@cache
def read_console(folder: Path) -> Console:
    if not (folder / "index.html").is_file():
        return Console({}, None)
    files = {f"/{path.relative_to(folder).as_posix()}": _read(folder, path) for path in _published(folder)}
    return Console(files, (folder / "index.html").read_text())


def _published(folder: Path) -> Iterator[Path]:
    """Yield plain files with ordinary names. A link might leave the folder; what begins with a dot is the builder's own."""
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.is_file() and not path.is_symlink() and not hidden and path.suffix not in ENCODINGS.values():
            if path.name != "index.html":
                yield path


def _read(folder: Path, path: Path) -> ConsoleFile:
    name = f"/{path.relative_to(folder).as_posix()}"
    plain = path.read_bytes()
    digest = hashlib.sha256(plain).hexdigest()[:32]
    encoded = {}
    for encoding, suffix in ENCODINGS.items():
        beside = path.with_name(path.name + suffix)
        if beside.is_file() and not beside.is_symlink():
            encoded[encoding] = Representation(beside.read_bytes(), f'"{digest}-{encoding}"')
    media_type = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return ConsoleFile(media_type, Representation(plain, f'"{digest}"'), encoded, not name.startswith(_HASHED))
