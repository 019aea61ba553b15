"""What people are told about a running cluster: the exact commands, places and endpoints. Pure, and never a secret."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_slurm import layout
from gpuaas_slurm.inputs import Inputs


@dataclass(frozen=True, slots=True)
class Door:
    """Where people come in: the controller's host."""

    allocation_id: str
    address: str
    login_user: str


@dataclass(frozen=True, slots=True)
class ProjectDoor:
    """How one project's people work: the account that is theirs, and an allocation from which they reach the cluster."""

    slug: str
    account: str
    allocation_id: str


def access_bundle(
    inputs: Inputs, door: Door, instance_name: str, projects: Sequence[ProjectDoor] = ()
) -> dict[str, object]:
    user, partition = inputs.users[0], next(one.name for one in inputs.partitions if one.default)
    enter = f"gpuaas allocations ssh {door.allocation_id}"
    account = f" --account={user.account}" if inputs.accounting else ""
    as_user = f"{enter} -- sudo -iu {user.name}"
    return {
        "login": {"shell": enter, "become": f"sudo -iu {user.name}", "users": [one.name for one in inputs.users]},
        "ssh_config": ssh_config(door, instance_name),
        "commands": {
            "nodes": f"{as_user} sinfo -N",
            "run": f"{as_user} srun --partition={partition}{account} hostname",
            "run_on_gpus": f"{as_user} srun --partition={partition}{account} --gres=gpu:1 env",
            "submit": f"{as_user} sbatch --partition={partition}{account} --wrap hostname",
            "queue": f"{as_user} squeue",
        },
        "health": {
            "controller": f"{enter} -- scontrol ping",
            "nodes": f"{enter} -- sinfo -R",
            "json": f"{enter} -- sinfo --json",
            "status": f"nc {door.address} {layout.STATUS_PORT}",
        },
        "endpoints": {
            "slurmctld": f"{door.address}:{layout.CONTROLLER_PORT}",
            "status": f"{door.address}:{layout.STATUS_PORT}",
        },
        "paths": {
            "configuration": f"{layout.ETC}/slurm.conf",
            "logs": layout.LOGS,
            "homes": layout.HOMES,
            "job_output": "the folder that the job was submitted from, on the worker that ran it",
        },
        "partitions": [one.name for one in inputs.partitions],
        "accounts": list(inputs.accounts) if inputs.accounting else [],
        "projects": [_project(one, user.name, partition) for one in projects] if inputs.accounting else [],
    }


def _project(one: ProjectDoor, user: str, partition: str) -> dict[str, object]:
    enter = f"gpuaas allocations ssh {one.allocation_id}"
    options = f"--partition={partition} --account={one.account}"
    return {
        "project": one.slug,
        "account": one.account,
        "shell": enter,
        "run": f"{enter} -- sudo -iu {user} srun {options} hostname",
        "submit": f"{enter} -- sudo -iu {user} sbatch {options} --wrap hostname",
    }


def ssh_config(door: Door, instance_name: str) -> str:
    """For one's own ssh. The platform signs one's public key for an hour at most; the host proves itself to its host CA."""
    lines = [
        f"# POST …/allocations/{door.allocation_id}/ssh-certificates signs ~/.ssh/id_ed25519.pub; its host CA keys go,",
        "# each as a line '@cert-authority * KEY', into ~/.ssh/gpuaas_known_hosts.",
        f"Host slurm-{instance_name}",
        f"  HostName {door.address}",
        f"  User {door.login_user}",
        f"  HostKeyAlias {door.allocation_id}",
        "  IdentityFile ~/.ssh/id_ed25519",
        "  CertificateFile ~/.ssh/id_ed25519-gpuaas-cert.pub",
        "  IdentitiesOnly yes",
        "  UserKnownHostsFile ~/.ssh/gpuaas_known_hosts",
        "  StrictHostKeyChecking yes",
    ]
    return "".join(f"{line}\n" for line in lines)
