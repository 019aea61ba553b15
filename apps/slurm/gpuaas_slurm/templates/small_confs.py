"""Renders cgroup.conf, gres.conf and slurmdbd.conf."""

import re
from collections.abc import Sequence

from gpuaas_slurm import layout

_PLUGINS = {"v1": "cgroup/v1", "v2": "cgroup/v2"}
# The short name of a GPU is a word of its model's name: H100, A100, L40S, MI300X, RTX4090.
_MODEL = re.compile(r"\b([A-Z]{1,3}[0-9]{2,4}[A-Z]{0,2})\b")


def cgroup_conf(cgroup: str, memory: bool = False) -> str:
    """Names the plugin: on a host with both versions mounted, the daemon's detection fails."""
    if cgroup == "none":
        return ""
    bounds = ["ConstrainCores=yes", "ConstrainDevices=yes", *(["ConstrainRAMSpace=yes"] if memory else [])]
    return "".join(f"{line}\n" for line in (f"CgroupPlugin={_PLUGINS[cgroup]}", *bounds))


def gpu_type(model: str) -> str:
    found = _MODEL.search(model.upper())
    return found[1].lower() if found else re.sub(r"[^a-z0-9]+", "_", model.lower()).strip("_") or "gpu"


def gres_conf(model: str, devices: Sequence[str]) -> str:
    lines = ["AutoDetect=off", *(f"Name=gpu Type={gpu_type(model)} File={device}" for device in devices)]
    return "".join(f"{line}\n" for line in lines)


def gres(model: str, devices: Sequence[str]) -> str | None:
    """Returns the GPUs of a node, in the form of its configuration."""
    return f"gpu:{gpu_type(model)}:{len(devices)}" if devices else None


def slurmdbd_conf() -> str:
    """Returns the configuration. It has no password: the database authenticates the account by the socket."""
    lines = [
        "AuthType=auth/munge",
        f"AuthInfo=socket={layout.MUNGE_SOCKET}",
        "DbdHost=localhost",
        "DbdAddr=127.0.0.1",
        f"DbdPort={layout.ACCOUNTING_PORT}",
        "SlurmUser=slurm",
        f"LogFile={layout.LOGS}/slurmdbd.log",
        "PidFile=/run/gpuaas-slurm-accounting/pid",
        "StorageType=accounting_storage/mysql",
        "StorageHost=localhost",
        "StorageUser=slurm",
        "StorageLoc=slurm_acct_db",
    ]
    return "".join(f"{line}\n" for line in lines)
