"""The command that runs the container: podman with no privileges, limits, the member's own network, and the GPUs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_containers.container_secrets import secret_arguments
from gpuaas_containers.gpu_devices import device_arguments, gpu_variables
from gpuaas_containers.member_container import MemberContainer
from gpuaas_containers.names import MemberNames
from gpuaas_containers.profile import RuntimeProfile
from gpuaas_containers.unit_quoting import check_text

ENGINE = "/usr/bin/podman"
LABEL = "gpuaas.document"  # of a container: which document it was started with
# What an ordinary image needs to set up its own files and become another user; nothing that reaches the host.
CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE", "SETGID", "SETPCAP", "SETUID")
_MAX_FILE_VALUE = 60_000  # bytes of a line in an environment file


@dataclass(frozen=True, slots=True)
class ContainerEnvironment:
    """Variables of the container. `file` is read by the engine; what a line cannot hold is given as an argument."""

    file: str
    arguments: tuple[str, ...]


def environment_of(container: MemberContainer) -> ContainerEnvironment:
    """Returns the environment, with the mark by which the platform finds the container's processes at a teardown."""
    variables = [(name, check_text(value, f"The variable {name}")) for name, value in container.profile.env]
    variables += [("GPUAAS_INSTANCE", container.instance_id), *gpu_variables(container.gpus)]
    lines = [f"{name}={value}\n" for name, value in variables if _fits_line(value)]
    others = [f"--env={name}={value}" for name, value in variables if not _fits_line(value)]
    return ContainerEnvironment("".join(lines), tuple(others))


def run_arguments(
    container: MemberContainer, environment: ContainerEnvironment, labels: Sequence[tuple[str, str]]
) -> list[str]:
    """Return the command. It ends when the container runs, and leaves the engine's monitor as the unit's main process."""
    names, profile = container.names, container.profile
    return [
        *(ENGINE, "run", f"--name={names.name}", "--replace", "--rm", "--detach", "--pull=missing"),
        *("--sdnotify=conmon", "--cgroups=no-conmon", "--log-driver=journald", "--http-proxy=false"),
        *("--cap-drop=all", *(f"--cap-add={one}" for one in CAPABILITIES), "--security-opt=no-new-privileges"),
        *(f"--network={names.network}", *(f"--network-alias={one}" for one in container.aliases)),
        *(f"--add-host={name}:{address}" for name, address in container.hosts),
        *("--sysctl=net.ipv4.ip_unprivileged_port_start=0",),
        *(f"--publish={port.host}:{port.container}/{port.protocol}" for port in profile.ports),
        *_limits(profile),
        *([f"--user={profile.user}"] if profile.user else ()),
        *(["--read-only", "--read-only-tmpfs=true"] if profile.read_only_root else ()),
        *_volumes(names, profile),
        *device_arguments(container.gpus),
        *secret_arguments(names, profile, container.secrets),
        *(f"--label={name}={value}" for name, value in labels),
        *(f"--env-file={names.environment_path}", *environment.arguments),
        *_program(profile, container.reference),
    ]


def _limits(profile: RuntimeProfile) -> list[str]:
    found = [f"--shm-size={profile.shared_memory_mib}m", f"--pids-limit={profile.processes}"]
    found.append(f"--stop-timeout={profile.stop_seconds}")
    if profile.memory_mib is not None:  # the same number for both: a limit that swap evades is none
        found += [f"--memory={profile.memory_mib}m", f"--memory-swap={profile.memory_mib}m"]
    if profile.cpus is not None:
        found.append(f"--cpus={profile.cpus:g}")
    return found


def _volumes(names: MemberNames, profile: RuntimeProfile) -> list[str]:
    """Returns the volumes. The engine makes one at its first use, as a folder that belongs to the container's user."""
    return [
        f"--volume={names.volume(one.key)}:{one.path}:{'ro' if one.read_only else 'rw'},nodev,nosuid"
        for one in profile.volumes
    ] + [f"--volume={names.file(one.digest, one.unpack)}:{one.path}:ro,nodev,nosuid" for one in profile.files]


def _program(profile: RuntimeProfile, reference: str) -> list[str]:
    """Returns entry point and arguments: the first word of `command` is the entry point, the others are arguments."""
    words = [check_text(one, "An argument") for one in (*(profile.command or ()), *(profile.args or ()))]
    if profile.command:
        return [f"--entrypoint={_json_list(words[: len(profile.command)])}", reference, *words[len(profile.command) :]]
    return [reference, *words]


def _json_list(words: Sequence[str]) -> str:
    return json.dumps(list(words), ensure_ascii=False)


def _fits_line(value: str) -> bool:
    return "\n" not in value and len(value.encode()) < _MAX_FILE_VALUE
