"""All paths, ports and units of a cluster on a host. Nothing is anywhere else, so a teardown can remove all of it.

The daemons run under the app's own units. The units of the packages are never started, and a host that already has
Slurm's packages keeps them as they were.
"""

FOLDER = "/var/lib/gpuaas-slurm"
ETC = "/etc/slurm"  # the default of Slurm's commands
LOGS = "/var/log/gpuaas-slurm"
SPOOL = "/var/spool/slurmd"  # the compiled-in path: slurmd writes there before it has read its configuration
STATE = f"{FOLDER}/controller"
DATABASE = f"{FOLDER}/database"
MUNGE = f"{FOLDER}/munge"
MUNGE_KEY = f"{MUNGE}/key"
HOMES = f"{FOLDER}/home"
PACKAGES = f"{FOLDER}/packages"
STATUS_PROGRAM = f"{FOLDER}/bin/status"
STATUS_KEY = f"{FOLDER}/status-key"
COMPLETED_JOBS = f"{STATE}/completed-jobs"  # without accounting, slurmctld writes a line for each ended job
UNIT_FILES = "/etc/systemd/system"
STAMPS = "/run/gpuaas-slurm-stamps"  # the fingerprint of the files with which each daemon was started

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
# In the order in which they are stopped: dependent units first.
UNITS = (STATUS_SOCKET, WORKER_UNIT, CONTROLLER_UNIT, ACCOUNTING_UNIT, DATABASE_UNIT, MUNGE_UNIT)
UNIT_PATHS = tuple(f"{UNIT_FILES}/{name}" for name in (*UNITS, STATUS_UNIT))

# The packages' own units are masked while the cluster exists, also after a reboot.
PACKAGED_UNITS = ("slurmctld.service", "slurmd.service", "slurmdbd.service")
MASKED_UNITS = tuple(f"{UNIT_FILES}/{name}" for name in (*PACKAGED_UNITS, "munge.service"))
PROCESSES = ("slurmctld", "slurmd", "slurmstepd", "slurmdbd")
HOSTS_MARK = "# gpuaas-slurm"
CONFIG = ("slurm.conf", "cgroup.conf", "gres.conf", "slurmdbd.conf", "jobcomp.lua")
CONFIG_PATHS = tuple(f"{ETC}/{name}" for name in CONFIG)
# What is left of packages after a purge, if the app installed them.
PACKAGE_PATHS = ("/etc/munge", "/etc/slurm", "/var/lib/munge", "/var/lib/slurm", "/var/log/munge", "/var/log/slurm")
PACKAGE_USERS = ("slurm", "munge")


def node_name(ordinal: int) -> str:
    """Returns a worker's name in the cluster. Host names may repeat across projects; ordinals of members do not."""
    return f"w{ordinal}"
