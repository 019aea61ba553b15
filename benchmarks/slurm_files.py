"""The files of a cluster as they lie on its hosts, for a person who sets one up by hand: those that the app would write."""

import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from gpuaas_lab import Host
from gpuaas_slurm import layout
from gpuaas_slurm.inputs import Inputs
from gpuaas_slurm.templates import small_confs, units
from gpuaas_slurm.templates.slurm_conf import ClusterConf, slurm_conf

MODEL = "NVIDIA H100 80GB HBM3"
NODE, ADDRESS = "@NODE@", "@ADDRESS@"  # of each worker: the script puts them in


def write_files(folder: Path, head: Host) -> None:
    """Below `folder` as below a host's root. The key is made by whoever deploys."""
    unmarked: Mapping[str, str] = {}
    cgroup = "v1"
    devices = [f"/dev/nvidia{number}" for number in range(head.gpus)]
    conf = ClusterConf("cluster", head.name, head.address, Inputs.of({}).partitions, accounting=False, cgroup=cgroup)
    texts = {
        f"{layout.ETC}/slurm.conf": slurm_conf(conf),
        f"{layout.ETC}/cgroup.conf": small_confs.cgroup_conf(cgroup),
        f"{layout.ETC}/gres.conf": small_confs.gres_conf(MODEL, devices),
        layout.MUNGE_KEY: "",
        layout.STATUS_PROGRAM: files("gpuaas_slurm.hostside").joinpath("programs", "status.py").read_text(),
        _unit(layout.MUNGE_UNIT): units.munge_unit(unmarked),
        _unit(layout.CONTROLLER_UNIT): units.controller_unit(unmarked, accounting=False),
        _unit(layout.STATUS_SOCKET): units.status_socket(),
        _unit(layout.STATUS_UNIT): units.status_unit(unmarked, accounting=False),
        _unit(layout.WORKER_UNIT): units.worker_unit(unmarked, NODE, ADDRESS, small_confs.gres(MODEL, devices)),
    }
    for path, text in texts.items():
        place = folder / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        os.chmod(place, 0o755 if path == layout.STATUS_PROGRAM else 0o644)


def _unit(name: str) -> str:
    return f"{layout.UNIT_FILES}/{name}"
