"""Build what lab hosts are made of, before any test waits for it: `python -m system_support.lab_parts`.

The first fleet on a machine has to, and it takes minutes; a test that gives up after minutes should not be that one.
"""

import os

from gpuaas_lab import CONTAINER_ENGINE, guest_disk, rootfs
from gpuaas_lab.demo import app
from system_support.slurm_lab import LAYER


def say(line: str) -> None:
    print(f"[lab] {line}", flush=True)


def main() -> None:
    rootfs.ensure(say)
    LAYER.ensure(say)
    CONTAINER_ENGINE.ensure(say)
    app.ensure(say)
    if os.environ.get("GPUAAS_TEST_SLOW"):
        guest_disk.ensure(say)


if __name__ == "__main__":
    main()
