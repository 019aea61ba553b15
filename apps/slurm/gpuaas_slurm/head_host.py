"""The cluster's controller on its host: accounting where it is wanted, slurmctld, and what it says to those who look."""

from importlib.resources import files

from gpuaas_sdk.controller import Host
from gpuaas_slurm import layout
from gpuaas_slurm.cluster import Cluster
from gpuaas_slurm.hostside import ask_in_turn
from gpuaas_slurm.installing import munge_run, run_units
from gpuaas_slurm.projects import PREFIX
from gpuaas_slurm.rendered import small_confs, units

SLURM_CONF = f"{layout.ETC}/slurm.conf"
DBD_CONF = f"{layout.ETC}/slurmdbd.conf"


async def bring_up_accounting(cluster: Cluster, host: Host) -> None:
    """People, then the database, then cluster, accounts and users in it; slurmctld comes after all of them."""
    mark = cluster.ctx.environment
    written = [
        _file(DBD_CONF, small_confs.slurmdbd_conf(), "slurm", 0o600),
        _file(_unit(layout.DATABASE_UNIT), units.database_unit(mark)),
        _file(_unit(layout.ACCOUNTING_UNIT), units.accounting_unit(mark)),
    ]
    database = {"folder": layout.DATABASE, "socket": layout.DATABASE_SOCKET}
    accounting = {"name": layout.ACCOUNTING_UNIT, "files": [DBD_CONF, _unit(layout.ACCOUNTING_UNIT)]}
    people = [{"name": one.name, "account": one.account} for one in cluster.inputs.users]
    told = {"cluster": cluster.inputs.cluster_name, "accounts": list(cluster.inputs.accounts), "users": people}
    told |= {"projects": [one.account for one in cluster.projects], "ours": PREFIX}
    await ask_in_turn(
        host,
        ("apply", {"files": written}),
        ("database", {"phase": "files", **database}),
        run_units(munge_run(), {"name": layout.DATABASE_UNIT, "files": [_unit(layout.DATABASE_UNIT)]}),
        ("database", {"phase": "content", **database}),
        run_units(accounting | {"listens": layout.ACCOUNTING_PORT}),
        ("accounts", told),
    )


async def bring_up(cluster: Cluster, host: Host, afresh: bool = False) -> None:
    mark, accounting = cluster.ctx.environment, cluster.inputs.accounting
    status = files("gpuaas_slurm.hostside").joinpath("programs", "status.py").read_text()
    folders = [{"path": layout.STATE, "owner": "slurm", "mode": 0o700}]
    written = [
        _file(_unit(layout.CONTROLLER_UNIT), units.controller_unit(mark, accounting)),
        _file(layout.STATUS_PROGRAM, status, mode=0o755),
        _file(_unit(layout.STATUS_SOCKET), units.status_socket()),
        _file(_unit(layout.STATUS_UNIT), units.status_unit(mark, accounting)),
    ]
    needed = [SLURM_CONF, f"{layout.ETC}/cgroup.conf", layout.MUNGE_KEY, _unit(layout.CONTROLLER_UNIT)]
    run = [
        {"name": layout.CONTROLLER_UNIT, "files": needed, "listens": layout.CONTROLLER_PORT},
        {"name": layout.STATUS_SOCKET, "files": [_unit(layout.STATUS_SOCKET)], "listens": layout.STATUS_PORT},
    ]
    await ask_in_turn(
        host,
        ("apply", {"folders": folders, "files": written}),
        run_units(munge_run()),
        ("first_state", {"state": layout.STATE}),
        run_units(*({**one, "afresh": afresh} for one in run)),
    )


def _unit(name: str) -> str:
    return f"{layout.UNIT_FILES}/{name}"


def _file(path: str, text: str, owner: str = "root", mode: int = 0o644) -> dict[str, object]:
    return {"path": path, "text": text, "owner": owner, "mode": mode}
