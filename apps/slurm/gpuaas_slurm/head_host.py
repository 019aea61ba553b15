"""The head node: accounting if enabled, slurmctld, and the status port."""

from importlib.resources import files

from gpuaas_sdk.controller import Host
from gpuaas_slurm import layout
from gpuaas_slurm.cluster import Cluster
from gpuaas_slurm.host_setup import munge_unit_spec, units_request
from gpuaas_slurm.hostside import run_programs
from gpuaas_slurm.projects import PREFIX
from gpuaas_slurm.templates import small_confs, units
from gpuaas_slurm.templates.jobcomp_lua import jobcomp_lua

SLURM_CONF = f"{layout.ETC}/slurm.conf"
DBD_CONF = f"{layout.ETC}/slurmdbd.conf"


async def bring_up_accounting(cluster: Cluster, host: Host) -> None:
    """Starts the database and the accounting, then adds cluster, accounts and users. slurmctld starts after all of them."""
    environment = cluster.ctx.environment
    written = [
        _file(DBD_CONF, small_confs.slurmdbd_conf(), "slurm", 0o600),
        _file(_unit(layout.DATABASE_UNIT), units.database_unit(environment)),
        _file(_unit(layout.ACCOUNTING_UNIT), units.accounting_unit(environment)),
    ]
    database = {"folder": layout.DATABASE, "socket": layout.DATABASE_SOCKET}
    accounting = {"name": layout.ACCOUNTING_UNIT, "files": [DBD_CONF, _unit(layout.ACCOUNTING_UNIT)]}
    people = [{"name": one.name, "account": one.account} for one in cluster.inputs.users]
    accounts = {"cluster": cluster.inputs.cluster_name, "accounts": list(cluster.inputs.accounts), "users": people}
    accounts |= {"projects": [one.account for one in cluster.projects], "ours": PREFIX}
    await run_programs(
        host,
        ("apply", {"files": written}),
        ("database", {"phase": "files", **database}),
        units_request(munge_unit_spec(), {"name": layout.DATABASE_UNIT, "files": [_unit(layout.DATABASE_UNIT)]}),
        ("database", {"phase": "content", **database}),
        units_request(accounting | {"listens": layout.ACCOUNTING_PORT}),
        ("accounts", accounts),
    )


async def bring_up(cluster: Cluster, host: Host, restart: bool = False) -> None:
    environment, accounting = cluster.ctx.environment, cluster.inputs.accounting
    status = files("gpuaas_slurm.hostside").joinpath("programs", "status.py").read_text()
    folders = [{"path": layout.STATE, "owner": "slurm", "mode": 0o700}]
    written = [
        _file(_unit(layout.CONTROLLER_UNIT), units.controller_unit(environment, accounting)),
        _file(layout.STATUS_PROGRAM, status, mode=0o755),
        _file(layout.STATUS_KEY, cluster.status_key, "slurm", 0o400),
        _file(_unit(layout.STATUS_SOCKET), units.status_socket()),
        _file(_unit(layout.STATUS_UNIT), units.status_unit(environment, accounting)),
    ]
    if not accounting:
        written.append(_file(f"{layout.ETC}/jobcomp.lua", jobcomp_lua()))
    inputs = [SLURM_CONF, f"{layout.ETC}/cgroup.conf", layout.MUNGE_KEY, _unit(layout.CONTROLLER_UNIT)]
    run = [
        {"name": layout.CONTROLLER_UNIT, "files": inputs, "listens": layout.CONTROLLER_PORT},
        {"name": layout.STATUS_SOCKET, "files": [_unit(layout.STATUS_SOCKET)], "listens": layout.STATUS_PORT},
    ]
    await run_programs(
        host,
        ("apply", {"folders": folders, "files": written}),
        units_request(munge_unit_spec()),
        ("initial_state", {"state": layout.STATE}),
        units_request(*({**one, "restart": restart} for one in run)),
    )


def _unit(name: str) -> str:
    return f"{layout.UNIT_FILES}/{name}"


def _file(path: str, text: str, owner: str = "root", mode: int = 0o644) -> dict[str, object]:
    return {"path": path, "text": text, "owner": owner, "mode": mode}
