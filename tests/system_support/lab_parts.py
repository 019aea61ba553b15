"""Build what lab hosts are made of, before any test waits for it: `python -m system_support.lab_parts`.

The first fleet on a machine has to, and it takes minutes; a test that gives up after minutes should not be that one.
"""

from gpuaas_lab import CONTAINER_ENGINE, rootfs
from gpuaas_lab.demo import app
from system_support.slurm_lab import LAYER


def say(line: str) -> None:
    print(f"[lab] {line}", flush=True)


def main() -> None:
    rootfs.ensure(say)
    LAYER.ensure(say)
    CONTAINER_ENGINE.ensure(say)
    app.ensure(say)


if __name__ == "__main__":
    main()
