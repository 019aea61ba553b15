"""Where everything of a cluster is on a host: nothing is anywhere else, so that all of it can be taken away.

The daemons run under units of our own, beside what the packages bring: those are never started, and a host that already
has Slurm's packages keeps them as they were.
"""

FOLDER = "/var/lib/gpuaas-slurm"
ETC = "/etc/slurm"  # where Slurm's commands look by themselves
LOGS = "/var/log/gpuaas-slurm"
SPOOL = "/var/spool/slurmd"  # the compiled-in place: before it has read its file, slurmd writes there
STATE = f"{FOLDER}/controller"
DATABASE = f"{FOLDER}/database"
MUNGE = f"{FOLDER}/munge"
MUNGE_KEY = f"{MUNGE}/key"
HOMES = f"{FOLDER}/home"
PACKAGES = f"{FOLDER}/packages"
STATUS_PROGRAM = f"{FOLDER}/bin/status"
UNIT_FILES = "/etc/systemd/system"
STAMPS = "/run/gpuaas-slurm-stamps"  # what each running daemon was started with

MUNGE_SOCKET = "/run/gpuaas-slurm/munge.socket"
DATABASE_SOCKET = "/run/gpuaas-slurm-database/socket"

CONTROLLER_PORT, WORKER_PORT, ACCOUNTING_PORT, STATUS_PORT = 6817, 6818, 6819, 6821

MUNGE_UNIT = "gpuaas-slurm-munge.service"
DATABASE_UNIT = "gpuaas-slurm-database.service"
ACCOUNTING_UNIT = "gpuaas-slurm-accounting.service"
CONTROLLER_UNIT = "gpuaas-slurm-controller.service"
WORKER_UNIT = "gpuaas-slurm-worker.service"
STATUS_SOCKET = "gpuaas-slurm-status.socket"
STATUS_UNIT = "gpuaas-slurm-status@.service"
# In the order in which they end: who depends on another goes first.
UNITS = (STATUS_SOCKET, WORKER_UNIT, CONTROLLER_UNIT, ACCOUNTING_UNIT, DATABASE_UNIT, MUNGE_UNIT)
UNIT_PATHS = tuple(f"{UNIT_FILES}/{name}" for name in (*UNITS, STATUS_UNIT))

# The packages' own units stay asleep while the cluster lives, also over a reboot.
PACKAGED_UNITS = ("slurmctld.service", "slurmd.service", "slurmdbd.service")
ASLEEP = tuple(f"{UNIT_FILES}/{name}" for name in (*PACKAGED_UNITS, "munge.service"))
PROCESSES = ("slurmctld", "slurmd", "slurmstepd", "slurmdbd")
HOSTS_MARK = "# gpuaas-slurm"
CONFIG = ("slurm.conf", "cgroup.conf", "gres.conf", "slurmdbd.conf")
CONFIG_PATHS = tuple(f"{ETC}/{name}" for name in CONFIG)
# What packages leave when they are purged, where they came with the cluster.
PACKAGE_PATHS = ("/etc/munge", "/etc/slurm", "/var/lib/munge", "/var/lib/slurm", "/var/log/munge", "/var/log/slurm")
PACKAGE_USERS = ("slurm", "munge")


def node_name(ordinal: int) -> str:
    """A worker's name in the cluster. Hosts of different projects may well have the same name; members never do."""
    return f"w{ordinal}"
