"""The hardware model that hosts share, as a read-only layer of their disks, written once a machine.

A tree of a thousand little files a host would take longer to remove than the host takes to boot.
"""

import hashlib
from contextlib import AbstractContextManager
from pathlib import Path

from gpuaas_lab import hardware
from gpuaas_lab.files import locked, remove_folder
from gpuaas_lab.image import HARDWARE_ROOT
from gpuaas_lab.layout import HARDWARE_DIR

_WRITE_TIMEOUT = 60.0
_PARTIAL = HARDWARE_DIR / "partial"


def path(gpu_count: int) -> Path:
    """Kept under the hash of what writes it. A folder of that name is complete."""
    source = Path(hardware.__file__).read_bytes()
    return HARDWARE_DIR / hashlib.sha256(source + bytes([gpu_count])).hexdigest()[:16]


def ensure_hardware_layer(gpu_count: int) -> Path:
    complete = path(gpu_count)
    if complete.is_dir():
        return complete
    with _only_writer():
        if not complete.is_dir():
            remove_folder(_PARTIAL)
            hardware.write_model(_PARTIAL / HARDWARE_ROOT.lstrip("/"), gpu_count)
            _PARTIAL.rename(complete)
    return complete


def all_cached() -> list[Path]:
    """Of this model of the hardware and of earlier ones."""
    return [folder for folder in HARDWARE_DIR.glob("*") if folder.is_dir() and folder != _PARTIAL]


def discard_cached(folder: Path) -> None:
    with _only_writer():
        remove_folder(_PARTIAL)
        folder.rename(_PARTIAL)
        remove_folder(_PARTIAL)


def _only_writer() -> AbstractContextManager[None]:
    return locked(HARDWARE_DIR / "lock", _WRITE_TIMEOUT, "another process to write the hardware layer")
