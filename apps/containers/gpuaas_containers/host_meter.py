"""Says what is counted for a member on its host: how long its container ran, and the counters that the manifest names; and what
the container says of its version. Pure.

A program on the host counts, run by a timer beside the container's unit and whenever the unit ends. Its counts outlive
restarts of the container, of the host and of the controller.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files

from gpuaas_containers.engine_arguments import ENGINE
from gpuaas_containers.member_container import MemberContainer
from gpuaas_containers.names import MemberNames
from gpuaas_containers.profile import MeteredCounter
from gpuaas_containers.unit_quoting import command_line
from gpuaas_sdk.controller import counts_path

CONTAINER_SECONDS, SECOND = "container_seconds", "second"
PYTHON = "/usr/bin/python3"
FIRST_SECONDS, EVERY_SECONDS = 5, 30


def units_of(manifest: Mapping[str, object]) -> dict[str, str]:
    """Return the units of what hosts count for members, by key."""
    listed = manifest.get("metering")
    dimensions = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, Sequence) else []
    return {
        CONTAINER_SECONDS: SECOND,
        **{str(one["key"]): str(one["unit"]) for one in dimensions if "counter" in one},
    }


def meter_command(names: MemberNames) -> list[str]:
    """Return the command that counts once."""
    return [PYTHON, "-I", names.meter_program, names.meter_settings, ENGINE]


def meter_files(container: MemberContainer) -> dict[str, str]:
    """Return the texts by path: the program, its settings, its unit and its timer."""
    names = container.names
    return {
        names.meter_program: files("gpuaas_containers.hostside").joinpath("programs", "usage_meter.py").read_text(),
        names.meter_settings: _settings(container),
        names.meter_unit_path: _unit(names, container.instance_id),
        names.meter_timer_path: _timer(names),
    }


def _settings(container: MemberContainer) -> str:
    names, page = container.names, container.profile.version_page
    settings = {
        "unit": names.unit,
        "container": names.name,
        "member_id": container.member_id,
        "state": names.meter_state,
        "counts": counts_path(container.instance_id, container.member_id),
        "counters": [_counter(one) for one in container.profile.counters],
        "version_page": None if page is None else asdict(page),
    }
    return json.dumps(settings, indent=1) + "\n"


def _counter(counter: MeteredCounter) -> dict[str, object]:
    return {
        "key": counter.key,
        "port": counter.port,
        "path": counter.path,
        "metric": counter.metric,
        "labels": dict(counter.labels),
    }


def _unit(names: MemberNames, instance_id: str) -> str:
    lines = [
        "[Unit]",
        f"Description=Counts for {names.unit}",
        "",
        "[Service]",
        "Type=oneshot",
        f"Environment=GPUAAS_INSTANCE={instance_id}",
        f"ExecStart={command_line(meter_command(names))}",
    ]
    return "\n".join(lines) + "\n"


def _timer(names: MemberNames) -> str:
    """Returns the unit of the timer, which runs while the container's unit does."""
    lines = [
        "[Unit]",
        f"Description=Counts for {names.unit}",
        f"BindsTo={names.unit}",
        f"After={names.unit}",
        "",
        "[Timer]",
        f"OnActiveSec={FIRST_SECONDS}",
        f"OnUnitActiveSec={EVERY_SECONDS}",
        "AccuracySec=1",
    ]
    return "\n".join(lines) + "\n"
