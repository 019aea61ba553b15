"""Renders slurm.conf, which is the same on every host. Workers are not in it: they join as dynamic nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_slurm import layout
from gpuaas_slurm.inputs import Partition


@dataclass(frozen=True, slots=True)
class ClusterConf:
    name: str
    controller_host: str
    controller_address: str
    partitions: Sequence[Partition]
    accounting: bool
    cgroup: str  # v1, v2 or none
    memory_per_cpu: int | None = None  # in MiB, the default of jobs; None: memory is not scheduled


MAX_NODES = 1024
CREDENTIAL_SECONDS = 20


def slurm_conf(cluster: ClusterConf) -> str:
    lines = [
        f"ClusterName={cluster.name}",
        f"SlurmctldHost={cluster.controller_host}({cluster.controller_address})",
        f"SlurmctldPort={layout.CONTROLLER_PORT}",
        f"SlurmdPort={layout.WORKER_PORT}",
        "SlurmUser=slurm",
        *_authentication(),
        *_paths(),
        *_confinement(cluster.cgroup),
        *_scheduling(cluster.memory_per_cpu),
        *(_accounting() if cluster.accounting else ["JobCompType=jobcomp/lua"]),
        f"MaxNodeCount={MAX_NODES}",
        *(_partition(one) for one in cluster.partitions),
    ]
    return "".join(f"{line}\n" for line in lines)


def _authentication() -> list[str]:
    """Uses the app's own munge; an existing munge of the host keeps its key. A requeued job waits until the credential of
    its first run has expired, so the lifetime is shorter than Slurm's default of two minutes.
    """
    return [
        "AuthType=auth/munge",
        f"AuthInfo=socket={layout.MUNGE_SOCKET},cred_expire={CREDENTIAL_SECONDS}",
        "CredType=cred/munge",
    ]


def _paths() -> list[str]:
    return [
        f"StateSaveLocation={layout.STATE}",
        f"SlurmdSpoolDir={layout.SPOOL}",
        "SlurmctldPidFile=/run/gpuaas-slurm-controller/pid",
        "SlurmdPidFile=/run/gpuaas-slurm-worker/pid",
        f"SlurmctldLogFile={layout.LOGS}/slurmctld.log",
        f"SlurmdLogFile={layout.LOGS}/slurmd.log",
    ]


def _confinement(cgroup: str) -> list[str]:
    """Confines jobs to their cores and GPUs, if the host has control groups."""
    if cgroup == "none":
        return ["ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none"]
    return ["ProctrackType=proctrack/cgroup", "TaskPlugin=task/cgroup"]


def _scheduling(memory_per_cpu: int | None) -> list[str]:
    """Give a job without --mem the share of its cores, where memory is scheduled. Slurm's default would be all memory of the
    node, which keeps other jobs out.
    """
    resources = "CR_Core" if memory_per_cpu is None else "CR_Core_Memory"
    return [
        "GresTypes=gpu",
        "SelectType=select/cons_tres",
        f"SelectTypeParameters={resources}",
        *([] if memory_per_cpu is None else [f"DefMemPerCPU={memory_per_cpu}"]),
        "SchedulerParameters=batch_sched_delay=0",
        "ReturnToService=2",  # a worker is used again after a power cut
        "SlurmdTimeout=10",
        "SlurmctldTimeout=10",
        "InactiveLimit=0",
        "KillWait=5",
        "JobRequeue=1",
        "TreeWidth=65533",  # messages go straight to each worker: workers know only the controller
        "MailProg=/bin/true",
        "MpiDefault=none",
    ]


def _accounting() -> list[str]:
    return [
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=localhost",
        f"AccountingStoragePort={layout.ACCOUNTING_PORT}",
        f"AccountingStoragePass={layout.MUNGE_SOCKET}",
        "AccountingStorageEnforce=associations,limits",  # an account is closed by a limit
        "AccountingStorageTRES=gres/gpu",
        "JobAcctGatherType=jobacct_gather/linux",
    ]


def _partition(one: Partition) -> str:
    default = "YES" if one.default else "NO"
    return f"PartitionName={one.name} Nodes=ALL Default={default} MaxTime={one.max_time} State=UP"
