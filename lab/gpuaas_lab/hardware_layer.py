"""The hardware model that hosts share, as a read-only layer of their disks, written once per machine.

A thousand small files per host would take longer to remove than a host takes to boot.
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
    """Return the folder, named by the hash of the code that writes it. A folder with this name is complete."""
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
    """Return the layers of this hardware model and of earlier ones."""
    return [folder for folder in HARDWARE_DIR.glob("*") if folder.is_dir() and folder != _PARTIAL]


def discard_cached(folder: Path) -> None:
    with _only_writer():
        remove_folder(_PARTIAL)
        folder.rename(_PARTIAL)
        remove_folder(_PARTIAL)


def _only_writer() -> AbstractContextManager[None]:
    return locked(HARDWARE_DIR / "lock", _WRITE_TIMEOUT, "another process to write the hardware layer")
