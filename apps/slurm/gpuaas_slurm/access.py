"""Access to a running cluster for people: exact commands, paths and endpoints. Pure, and never a secret."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_slurm import layout
from gpuaas_slurm.inputs import Inputs


@dataclass(frozen=True, slots=True)
class LoginHost:
    """The host where people log in: the head node."""

    allocation_id: str
    address: str
    login_user: str


@dataclass(frozen=True, slots=True)
class ProjectAccess:
    """Says how members of one project use the cluster: their account, and an allocation from which they reach it."""

    slug: str
    account: str
    allocation_id: str


def access_bundle(
    inputs: Inputs, login: LoginHost, instance_name: str, projects: Sequence[ProjectAccess] = ()
) -> dict[str, object]:
    user, partition = inputs.users[0], next(one.name for one in inputs.partitions if one.default)
    ssh = f"gpuaas allocations ssh {login.allocation_id}"
    account = f" --account={user.account}" if inputs.accounting else ""
    as_user = f"{ssh} -- sudo -iu {user.name}"
    return {
        "login": {"shell": ssh, "become": f"sudo -iu {user.name}", "users": [one.name for one in inputs.users]},
        "ssh_config": ssh_config(login, instance_name),
        "commands": {
            "nodes": f"{as_user} sinfo -N",
            "run": f"{as_user} srun --partition={partition}{account} hostname",
            "run_on_gpus": f"{as_user} srun --partition={partition}{account} --gres=gpu:1 env",
            "submit": f"{as_user} sbatch --partition={partition}{account} --wrap hostname",
            "queue": f"{as_user} squeue",
        },
        "health": {
            "controller": f"{ssh} -- scontrol ping",
            "nodes": f"{ssh} -- sinfo -R",
            "json": f"{ssh} -- sinfo --json",
        },
        "endpoints": {"slurmctld": f"{login.address}:{layout.CONTROLLER_PORT}"},
        "paths": {
            "configuration": f"{layout.ETC}/slurm.conf",
            "logs": layout.LOGS,
            "homes": layout.HOMES,
            "job_output": "the folder from which the job was submitted, on the worker that ran it",
        },
        "partitions": [one.name for one in inputs.partitions],
        "accounts": list(inputs.accounts) if inputs.accounting else [],
        "projects": [_project(one, user.name, partition) for one in projects] if inputs.accounting else [],
    }


def _project(one: ProjectAccess, user: str, partition: str) -> dict[str, object]:
    ssh = f"gpuaas allocations ssh {one.allocation_id}"
    options = f"--partition={partition} --account={one.account}"
    return {
        "project": one.slug,
        "account": one.account,
        "shell": ssh,
        "run": f"{ssh} -- sudo -iu {user} srun {options} hostname",
        "submit": f"{ssh} -- sudo -iu {user} sbatch {options} --wrap hostname",
    }


def ssh_config(login: LoginHost, instance_name: str) -> str:
    """Returns a configuration for `ssh` with your own key. The platform signs the key for at most an hour."""
    lines = [
        f"# POST …/allocations/{login.allocation_id}/ssh-certificates signs ~/.ssh/id_ed25519.pub; its host CA keys go,",
        "# each as a line '@cert-authority * KEY', into ~/.ssh/gpuaas_known_hosts. The certificate works only from the",
        "# address that requested it and from source_addresses of the request.",
        f"Host slurm-{instance_name}",
        f"  HostName {login.address}",
        f"  User {login.login_user}",
        f"  HostKeyAlias {login.allocation_id}",
        "  IdentityFile ~/.ssh/id_ed25519",
        "  CertificateFile ~/.ssh/id_ed25519-gpuaas-cert.pub",
        "  IdentitiesOnly yes",
        "  UserKnownHostsFile ~/.ssh/gpuaas_known_hosts",
        "  StrictHostKeyChecking yes",
    ]
    return "".join(f"{line}\n" for line in lines)
