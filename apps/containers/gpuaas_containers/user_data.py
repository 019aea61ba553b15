"""The document that starts a member: cloud-init user-data with a systemd unit, its variables, and what starts it.

A fresh machine boots with it; on a machine that runs, `hostside/programs/host_documents.py` applies the same document. It
is JSON, which is YAML too: the host's own Python reads it without a YAML library.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpuaas_containers.container_secrets import hide_command
from gpuaas_containers.engine_arguments import (
    ENGINE,
    LABEL,
    ContainerEnvironment,
    environment_of,
    run_arguments,
)
from gpuaas_containers.host_meter import meter_command, meter_files
from gpuaas_containers.member_container import MemberContainer
from gpuaas_containers.unit_quoting import command_line, one_line, quoted

HEADER = "#cloud-config\n"
RESTARTS = {"on_failure": "on-failure", "always": "always", "never": "no"}
RESTART_SECONDS, BURST, BURST_SECONDS = 2, 10, 300
KILL_SECONDS = 40  # beyond the container's own time to end: for its counters to be read and the engine to clean up
# The shell's text is constant, and names come as arguments. What these commands print would be in the container's log.
_QUIETLY = ("/bin/sh", "-c", 'exec "$@" >/dev/null', "sh")
_SILENTLY = ("/bin/sh", "-c", 'exec "$@" >/dev/null 2>&1', "sh")
_MAKE_NETWORK = (
    *(
        "/bin/sh",
        "-c",
        f'{ENGINE} network exists "$1" || {ENGINE} network create "$1" >/dev/null || {ENGINE} network exists "$1"',
    ),
    "sh",
)


@dataclass(frozen=True, slots=True)
class UserData:
    text: str
    fingerprint: str  # the running container has it as a label


def render_user_data(container: MemberContainer) -> UserData:
    """Return the document. The same container gives the same text."""
    environment = environment_of(container)
    # The title names the version: one that changes nothing else of this container leaves it running.
    plain = _unit_text(replace(container, title=""), environment, ())
    fingerprint = hashlib.sha256(f"{plain}\0{environment.file}".encode()).hexdigest()
    names = container.names
    unit = _unit_text(container, environment, [(LABEL, fingerprint)])
    document = {
        "write_files": [
            _file(names.environment_path, environment.file, "0600"),
            *(_file(path, text, "0644") for path, text in meter_files(container).items()),
            _file(names.unit_path, unit, "0644"),
        ],
        "runcmd": [
            ["systemctl", "daemon-reload"],
            ["systemctl", "enable", "--quiet", names.unit],
            ["systemctl", "--no-block", "restart", names.unit],
        ],
    }
    return UserData(HEADER + json.dumps(document, indent=1) + "\n", fingerprint)


def _file(path: str, content: str, permissions: str) -> dict[str, str]:
    return {"path": path, "owner": "root:root", "permissions": permissions, "content": content}


def _unit_text(container: MemberContainer, environment: ContainerEnvironment, labels: Sequence[tuple[str, str]]) -> str:
    names, profile = container.names, container.profile
    start = run_arguments(container, environment, labels)
    stop = [ENGINE, "stop", "--ignore", f"--time={profile.stop_seconds}", names.name]
    remove = [ENGINE, "rm", "--force", "--ignore", "--time=0", names.name]
    count = command_line([*_SILENTLY, *meter_command(names)])
    hide = hide_command(names, profile, container.secrets)
    lines = [
        "[Unit]",
        f"Description={one_line(container.title)}",
        f"Wants=network-online.target {names.meter}.timer",
        "After=network-online.target",
        f"StartLimitIntervalSec={BURST_SECONDS}",
        f"StartLimitBurst={BURST}",
        "",
        "[Service]",
        "Type=notify",
        "NotifyAccess=all",
        f"Environment={quoted(f'GPUAAS_INSTANCE={container.instance_id}')}",
        f"ExecStartPre={command_line([*_MAKE_NETWORK, names.network])}",
        f"ExecStart={command_line(start)}",
        *([f"ExecStartPost={command_line(hide)}"] if hide else ()),
        f"ExecStop=-{count}",  # once more while it answers
        f"ExecStop={command_line([*_QUIETLY, *stop])}",
        f"ExecStopPost=-{count}",
        f"ExecStopPost=-{command_line([*_QUIETLY, *remove])}",
        f"Restart={RESTARTS[profile.restart]}",
        f"RestartSec={RESTART_SECONDS}",
        f"TimeoutStartSec={profile.start_seconds}",
        f"TimeoutStopSec={profile.stop_seconds + KILL_SECONDS}",
        "KillMode=mixed",
        "Delegate=yes",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    return "\n".join(lines) + "\n"
