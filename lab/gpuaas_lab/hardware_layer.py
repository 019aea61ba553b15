"""The hardware model that hosts share, as a read-only layer of their disks, written once a machine.

A tree of a thousand little files a host would take longer to remove than the host takes to boot.
"""

import hashlib
from pathlib import Path

from gpuaas_lab import hardware
from gpuaas_lab.files import locked, remove_folder
from gpuaas_lab.image import HARDWARE_ROOT
from gpuaas_lab.layout import HARDWARE_DIR

_WRITE_TIMEOUT = 60.0


def ensure_hardware_layer(gpu_count: int) -> Path:
    """Kept under the hash of what writes it. A folder of that name is complete."""
    source = Path(hardware.__file__).read_bytes()
    name = hashlib.sha256(source + bytes([gpu_count])).hexdigest()[:16]
    complete = HARDWARE_DIR / name
    if complete.is_dir():
        return complete
    with locked(HARDWARE_DIR / "lock", _WRITE_TIMEOUT, "another process to write the hardware layer"):
        if not complete.is_dir():
            partial = HARDWARE_DIR / "partial"
            remove_folder(partial)
            hardware.write_model(partial / HARDWARE_ROOT.lstrip("/"), gpu_count)
            partial.rename(complete)
    return complete
