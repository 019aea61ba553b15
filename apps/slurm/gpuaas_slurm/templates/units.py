"""Renders the systemd units of a cluster. All set the platform's variable, so that a teardown finds their processes."""

from collections.abc import Mapping

from gpuaas_slurm import layout


def munge_unit(environment: Mapping[str, str]) -> str:
    command = (
        f"/usr/sbin/munged --foreground --key-file={layout.MUNGE_KEY} --socket={layout.MUNGE_SOCKET}"
        f" --pid-file=/run/gpuaas-slurm/munged.pid --seed-file={layout.MUNGE}/seed --log-file=/dev/stderr"
    )
    # Units that start after this one use the socket immediately.
    ready = f"/bin/sh -c 'until [ -S {layout.MUNGE_SOCKET} ]; do sleep 0.02; done'"
    service = [f"ExecStart={command}", f"ExecStartPost={ready}", "User=munge", "Group=munge"]
    service += ["RuntimeDirectory=gpuaas-slurm", "TimeoutStartSec=10", "Restart=on-failure"]
    return _unit("Authentication between the hosts of a Slurm cluster", [], service, environment)


def database_unit(environment: Mapping[str, str]) -> str:
    """Returns the unit. The database is reachable only through its socket, by one account."""
    command = (
        f"/usr/sbin/mariadbd --no-defaults --datadir={layout.DATABASE} --socket={layout.DATABASE_SOCKET}"
        " --pid-file=/run/gpuaas-slurm-database/pid --skip-networking --innodb-buffer-pool-size=1G"
        " --innodb-log-file-size=64M --innodb-lock-wait-timeout=900"
    )
    service = ["Type=notify", f"ExecStart={command}", "User=slurm", "Group=slurm", "TimeoutStartSec=60"]
    service += ["RuntimeDirectory=gpuaas-slurm-database", "Restart=on-failure"]
    return _unit("Accounting database of a Slurm cluster", [], service, environment)


def accounting_unit(environment: Mapping[str, str]) -> str:
    service = ["ExecStart=/usr/sbin/slurmdbd -D -s", f"Environment=MYSQL_UNIX_PORT={layout.DATABASE_SOCKET}"]
    service += ["User=slurm", "Group=slurm", "RuntimeDirectory=gpuaas-slurm-accounting", "Restart=on-failure"]
    return _unit("Accounting of a Slurm cluster", [layout.MUNGE_UNIT, layout.DATABASE_UNIT], service, environment)


def controller_unit(environment: Mapping[str, str], accounting: bool) -> str:
    needs = [layout.MUNGE_UNIT, *([layout.ACCOUNTING_UNIT] if accounting else [])]
    service = ["ExecStart=/usr/sbin/slurmctld -D -s", "RuntimeDirectory=gpuaas-slurm-controller"]
    service += ["LimitNOFILE=65536", "TasksMax=infinity", "Restart=on-failure", "RestartSec=1"]
    return _unit("Controller of a Slurm cluster", needs, service, environment)


def worker_unit(environment: Mapping[str, str], node: str, address: str, gres: str | None) -> str:
    """Returns the unit of a dynamic node: the controller learns of it when it joins. Jobs continue while slurmd restarts."""
    node_conf = f"NodeAddr={address}{f' Gres={gres}' if gres else ''}"
    service = [
        f'ExecStart=/usr/sbin/slurmd -D -s -Z -N {node} --conf "{node_conf}"',
        "KillMode=process",
        "Delegate=yes",
    ]
    service += ["RuntimeDirectory=gpuaas-slurm-worker", "LimitNOFILE=131072", "LimitMEMLOCK=infinity"]
    service += ["LimitSTACK=infinity", "TasksMax=infinity", "Restart=on-failure", "RestartSec=1"]
    return _unit("Worker of a Slurm cluster", [layout.MUNGE_UNIT], service, environment)


def status_socket() -> str:
    return (
        "[Unit]\nDescription=States and counts of a Slurm cluster\n\n"
        f"[Socket]\nListenStream={layout.STATUS_PORT}\nAccept=yes\nMaxConnections=16\n\n"
        "[Install]\nWantedBy=sockets.target\n"
    )


def status_unit(environment: Mapping[str, str], accounting: bool) -> str:
    words = f"/usr/bin/python3 -I {layout.STATUS_PROGRAM}{' accounting' if accounting else ''}"
    service = [
        f"ExecStart={words}",
        "StandardInput=socket",
        "StandardOutput=socket",
        "StandardError=journal",
        "User=slurm",
        "Group=slurm",
    ]
    service += ["TimeoutStartSec=30", "RuntimeMaxSec=30"]
    return _unit("States and counts of a Slurm cluster", [], service, environment, install=False)


def _unit(
    description: str, needs: list[str], service: list[str], environment: Mapping[str, str], install: bool = True
) -> str:
    after = " ".join(["network-online.target", *needs])
    head = [f"Description={description}", f"After={after}", *(f"Requires={one}" for one in needs)]
    variables = [f"Environment={name}={value}" for name, value in environment.items()]
    parts = [("Unit", head), ("Service", [*service, *variables])]
    if install:
        parts.append(("Install", ["WantedBy=multi-user.target"]))
    return "\n".join(f"[{name}]\n" + "".join(f"{line}\n" for line in lines) for name, lines in parts)
