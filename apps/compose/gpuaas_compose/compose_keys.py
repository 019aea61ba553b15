"""Every key of the compose specification: what becomes of it, or why it is refused.

The tables are the only list. The reader refuses what they do not support, and docs/reference/compose-keys.md is written
from them (`python -m gpuaas_compose.reference`).
"""

from dataclasses import dataclass
from enum import StrEnum


class Support(StrEnum):
    SUPPORTED = "supported"
    IGNORED = "ignored"  # it changes nothing that runs
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Key:
    """One key: what it becomes (supported), why it does not matter (ignored), or why it is refused."""

    name: str
    support: Support
    note: str


@dataclass(frozen=True, slots=True)
class KeyTable:
    """The keys of one kind of mapping; `place` is how people find it in a file."""

    place: str
    keys: tuple[Key, ...]

    def find(self, name: str) -> Key | None:
        """Return the key of this name. Names that begin with x- are the author's own in all tables."""
        if name.startswith("x-"):
            return EXTENSION
        return next((key for key in self.keys if key.name == name), None)


def _yes(name: str, note: str) -> Key:
    return Key(name, Support.SUPPORTED, note)


def _skip(name: str, note: str) -> Key:
    return Key(name, Support.IGNORED, note)


def _no(name: str, note: str) -> Key:
    return Key(name, Support.REFUSED, note)


_NETWORK = "A container has the instance's own network; name its ports instead."
_CONFINED = "The platform sets the confinement of a container; it cannot be changed."
_DEVICES = "Devices cannot be named; reserve GPUs in deploy.resources.reservations.devices."
_HOST = "A container has no access to the host."
_NAMES = "Services find each other by their names; there are no further names."
_TUNING = "The platform sets the kernel limits of a container."
_MEMORY = "Set deploy.resources.limits.memory."
_CPUS = "Set deploy.resources.limits.cpus."
_DISKS = "The speed of disks cannot be limited."
_FILES = "Files come from the image, or from a volume."
_OWN_VALUE = (
    "The value on your own machine. It is never read: the value here is given at launch, or generated (app.yaml)."
)
_SWARM = "This is for a swarm, which the platform does not have."

EXTENSION = Key("x-…", Support.IGNORED, "The author's own keys; they may define anchors.")

TOP = KeyTable(
    "compose.yaml",
    (
        _yes("services", "One component of the app for each, with a runtime profile."),
        _yes("volumes", "Named volumes. They end with the instance."),
        _skip("name", "The name is in app.yaml."),
        _skip("version", "The compose specification no longer has versions."),
        _no("networks", "Every instance has one network of its own, and all its services are in it."),
        _no("configs", _FILES),
        _yes("secrets", "Secrets of the instance: given at launch, or generated if app.yaml says so."),
        _no("include", "An app is one compose file; write it out."),
        _no("models", "A model is an artifact of the platform; serve it from an image."),
    ),
)

SERVICE = KeyTable(
    "services.NAME",
    (
        _yes("image", "By digest: NAME@sha256:…. A tag can move."),
        _yes("entrypoint", "`command` of the runtime profile."),
        _yes("command", "`args` of the runtime profile."),
        _yes("environment", "`env`. A value that is exactly ${name} is the input of that name in app.yaml."),
        _yes("env_file", "Read when the app is published; files inside the app's folder only."),
        _yes("ports", "Ports that the member's host offers."),
        _yes(
            "expose",
            "Ports for the other services. The host offers them if a service on another allocation depends on this one.",
        ),
        _yes("volumes", "Named volumes at a path in the container."),
        _yes("deploy", "GPUs, CPUs and memory."),
        _yes("gpus", "How many GPUs; the short form of deploy.resources.reservations.devices."),
        _yes("cpus", "The short form of deploy.resources.limits.cpus."),
        _yes("mem_limit", "The short form of deploy.resources.limits.memory."),
        _yes("pids_limit", "The short form of deploy.resources.limits.pids."),
        _yes("shm_size", "Size of /dev/shm."),
        _yes("user", "UID or UID:GID, by number: only the image knows its user names."),
        _yes("read_only", "The container can write only to its volumes and to temporary folders."),
        _yes("restart", "no, always, unless-stopped (as always) or on-failure, without a count."),
        _yes(
            "healthcheck",
            "A probe that the member's host runs. The test is curl, wget or nc -z to a port of the service.",
        ),
        _yes("depends_on", "`depends_on` of the component; services start in this order."),
        _yes("stop_grace_period", "How long the container may take to end."),
        _yes("scale", "1 only: a service has one member."),
        _skip("build", "How the image was made; the image itself must be named by its digest."),
        _skip("labels", "Labels of the container; nothing reads them."),
        _skip("annotations", "Annotations of the container; nothing reads them."),
        _no("privileged", "A container is never privileged."),
        _no("cap_add", "A container gets no further capabilities."),
        _no("cap_drop", _CONFINED),
        _no("security_opt", _CONFINED),
        _no("userns_mode", _CONFINED),
        _no("cgroup", _CONFINED),
        _no("cgroup_parent", _CONFINED),
        _no("network_mode", _NETWORK),
        _no("networks", "Every instance has one network of its own, and all its services are in it."),
        _no("mac_address", _NETWORK),
        _no("dns", _NETWORK),
        _no("dns_opt", _NETWORK),
        _no("dns_search", _NETWORK),
        _no("domainname", _NAMES),
        _no("hostname", _NAMES),
        _no("container_name", _NAMES),
        _no("extra_hosts", _NAMES),
        _no("links", _NAMES),
        _no("external_links", _NAMES),
        _no("pid", "A container has its own processes."),
        _no("ipc", "A container has its own memory; set shm_size."),
        _no("uts", _HOST),
        _no("isolation", "Containers are Linux containers."),
        _no("devices", _DEVICES),
        _no("device_cgroup_rules", _DEVICES),
        _no("runtime", "The platform chooses the runtime; reserve GPUs in deploy.resources.reservations.devices."),
        _no("volumes_from", "Name each volume in volumes."),
        _no("tmpfs", "With read_only, /run, /tmp and /var/tmp are temporary already."),
        _no("storage_opt", "The size of a container's own files cannot be limited."),
        _no("configs", _FILES),
        _yes("secrets", "Files in the container that have the values, such as /run/secrets/NAME."),
        _no("credential_spec", "Containers are Linux containers."),
        _no("extends", "Write the service out, or use an anchor: another file may change after the lint."),
        _no("develop", "This is for development on your own machine."),
        _no("profiles", "All services run; remove those that should not run."),
        _no("platform", "The image's digest determines its platform."),
        _no("pull_policy", "Images are pulled by digest, once."),
        _no("working_dir", "The image sets it; build an image with the right one."),
        _no("stop_signal", "The image sets it; build an image with the right one."),
        _no("init", "Build an image that starts an init process."),
        _no("stdin_open", "A service has no terminal."),
        _no("tty", "A service has no terminal."),
        _no("attach", "A service has no terminal."),
        _no("group_add", "Set the group's number in user."),
        _no("logging", "The platform keeps the log."),
        _no("post_start", "Use the image's own entry point for this."),
        _no("pre_stop", "Use the image's own entry point for this."),
        _no("label_file", "Labels have no effect here."),
        _no("provider", "A service is a container."),
        _no("models", "A model is an artifact of the platform; serve it from an image."),
        _no("use_api_socket", _HOST),
        _no("sysctls", _TUNING),
        _no("ulimits", _TUNING),
        _no("oom_kill_disable", _TUNING),
        _no("oom_score_adj", _TUNING),
        _no("blkio_config", _DISKS),
        _no("cpu_count", _CPUS),
        _no("cpu_percent", _CPUS),
        _no("cpu_shares", _CPUS),
        _no("cpu_period", _CPUS),
        _no("cpu_quota", _CPUS),
        _no("cpu_rt_runtime", _CPUS),
        _no("cpu_rt_period", _CPUS),
        _no("cpuset", _CPUS),
        _no("mem_reservation", _MEMORY),
        _no("mem_swappiness", _MEMORY),
        _no("memswap_limit", _MEMORY),
    ),
)

DEPLOY = KeyTable(
    "services.NAME.deploy",
    (
        _yes("resources", "Limits, and the reservation of GPUs."),
        _yes("replicas", "1 only: a service has one member."),
        _skip("labels", "Labels of the service; nothing reads them."),
        _no("mode", _SWARM),
        _no("endpoint_mode", _SWARM),
        _no("placement", "Name the services that share an allocation in app.yaml."),
        _no("restart_policy", "Use restart of the service."),
        _no("update_config", "The platform upgrades an instance as a whole."),
        _no("rollback_config", "The platform rolls an instance back as a whole."),
    ),
)
RESOURCES = KeyTable(
    "services.NAME.deploy.resources",
    (_yes("limits", "The most that the container gets."), _yes("reservations", "The GPUs that it needs.")),
)
LIMITS = KeyTable(
    "services.NAME.deploy.resources.limits",
    (
        _yes("cpus", "`resources.cpus` of the runtime profile."),
        _yes("memory", "`resources.memory_mib`."),
        _yes("pids", "`resources.processes`."),
    ),
)
RESERVATIONS = KeyTable(
    "services.NAME.deploy.resources.reservations",
    (
        _yes("devices", "GPUs."),
        _no("cpus", "The allocation is the reservation; set a limit."),
        _no("memory", "The allocation is the reservation; set a limit."),
        _no("generic_resources", _SWARM),
    ),
)
DEVICE = KeyTable(
    "services.NAME.deploy.resources.reservations.devices[]",
    (
        _yes("capabilities", "Must have gpu."),
        _yes("driver", "nvidia, or absent."),
        _yes("count", "A number, or all. Absent: all."),
        _no("device_ids", "The GPUs of an allocation are known only at launch; set a count."),
        _no("options", "Drivers take no options here."),
    ),
)
HEALTHCHECK = KeyTable(
    "services.NAME.healthcheck",
    (
        _yes("test", "curl or wget of a URL (an http probe), or nc -z HOST PORT (a tcp probe)."),
        _yes("interval", "`interval_seconds` of the probe."),
        _yes("timeout", "`timeout_seconds`, at most 10 s."),
        _yes("retries", "`failures`."),
        _yes("start_period", "`start_period_seconds`."),
        _skip("start_interval", "Until its first pass a probe is run several times a second."),
        _yes("disable", "Has no effect: the image's own healthcheck never becomes a probe."),
    ),
)
PORT = KeyTable(
    "services.NAME.ports[]",
    (
        _yes("target", "`container_port` of the runtime profile."),
        _yes("published", "`host_port`. One port, at least 1024."),
        _yes("protocol", "tcp or udp."),
        _skip("name", "For people."),
        _skip("app_protocol", "Use endpoints in app.yaml."),
        _no("host_ip", "The port is offered on the allocation's own address."),
        _no("mode", _SWARM),
    ),
)
VOLUME = KeyTable(
    "services.NAME.volumes[]",
    (
        _yes("type", "volume."),
        _yes("source", "The name of a volume."),
        _yes("target", "The path in the container."),
        _yes("read_only", "The container cannot write to it."),
        _no("bind", "A volume is never a folder of the host."),
        _no("volume", "Volumes take no options."),
        _no("tmpfs", "With read_only, /run, /tmp and /var/tmp are temporary already."),
        _no("image", "An image is not a volume here."),
        _no("consistency", "Volumes take no options."),
    ),
)
NAMED_VOLUME = KeyTable(
    "volumes.NAME",
    (
        _skip("name", "The platform names the volumes of an instance."),
        _skip("labels", "Labels of the volume; nothing reads them."),
        _no("driver", "A volume is on the allocation's own disk."),
        _no("driver_opts", "A volume is on the allocation's own disk, and never a folder of the host."),
        _no("external", "A volume belongs to one instance."),
    ),
)
SECRET = KeyTable(
    "services.NAME.secrets[]",
    (
        _yes("source", "The name of a secret."),
        _yes("target", "Where the container reads it: a name in /run/secrets, or a path. Absent: /run/secrets/NAME."),
        _no("uid", "The file belongs to the service's user."),
        _no("gid", "The file belongs to the service's user."),
        _no("mode", "Only the service's user can read it; without a user, every program of the container."),
    ),
)
NAMED_SECRET = KeyTable(
    "secrets.NAME",
    (
        _skip("file", _OWN_VALUE),
        _skip("environment", _OWN_VALUE),
        _skip("external", "All values come from outside of the file."),
        _skip("name", "The name in this file is the name that people see at launch."),
        _skip("labels", "Labels of the secret; nothing reads them."),
        _no("driver", _SWARM),
        _no("driver_opts", _SWARM),
        _no("template_driver", _SWARM),
    ),
)
DEPENDENCY = KeyTable(
    "services.NAME.depends_on.OTHER",
    (
        _yes(
            "condition", "service_started, or service_healthy: this service starts when the other's healthcheck passes."
        ),
        _no("restart", "A service is not restarted because of another."),
        _no("required", "All services run, so all dependencies are required."),
    ),
)

TABLES = (
    TOP,
    SERVICE,
    DEPLOY,
    RESOURCES,
    LIMITS,
    RESERVATIONS,
    DEVICE,
    HEALTHCHECK,
    PORT,
    VOLUME,
    NAMED_VOLUME,
    SECRET,
    NAMED_SECRET,
    DEPENDENCY,
)
