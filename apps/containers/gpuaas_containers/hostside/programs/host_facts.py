"""Finds what a container needs of its host: the engine, GPUs, and ports that nobody uses."""

import json
import os
import re
import socket

from host_commands import ENGINE, Failed, has_engine
from host_units import show

# Where the engine reads descriptions of devices (the Container Device Interface), and those of GPUs.
CDI_FOLDERS, CDI_KIND = ("/etc/cdi", "/run/cdi"), "nvidia.com/gpu"
SHARED = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset")


def facts(request):
    """Look before anything is pulled: what is missing is told at once."""
    if not has_engine():
        raise Failed("engine_missing", f"{ENGINE} is not installed")
    if show(request["unit"])["ActiveState"] not in (
        "active",
        "reloading",
    ):  # a running container has its ports by right
        for port in request["ports"]:
            refuse_taken(port["port"], port["protocol"])
    found = (re.fullmatch(r"nvidia(\d+)", name) for name in os.listdir("/dev"))
    gpus = sorted(int(one.group(1)) for one in found if one)
    shared = [path for path in SHARED if os.path.exists(path)]
    return {"gpus": gpus, "shared": shared, "described": sorted(described_gpus())}


def described_gpus():
    """Returns the numbers of the GPUs that the engine can give with their driver's files."""
    found = set()
    for folder in CDI_FOLDERS:
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            if name.endswith((".json", ".yaml")):
                with open(os.path.join(folder, name), errors="replace") as file:
                    found |= described_in(file.read(1 << 20))
    return found


def described_in(text):
    """Reads GPU names from JSON, or by lines from the YAML of the vendor's tool: the host may have no reader of YAML."""
    try:
        document = json.loads(text)
        kind, names = document["kind"], [str(one["name"]) for one in document["devices"]]
    except ValueError:
        kinds = re.findall(r"^kind: *[\"']?([\w./-]+)", text, re.MULTILINE)
        kind, names = (kinds or [""])[0], re.findall(r"^ {0,4}(?:- +)?name: *[\"']?([\w.:-]+)", text, re.MULTILINE)
    except (KeyError, TypeError):
        return set()
    return {int(one) for one in names if one.isdecimal()} if kind == CDI_KIND else set()


def refuse_taken(port, protocol):
    kind = socket.SOCK_DGRAM if protocol == "udp" else socket.SOCK_STREAM
    for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        try:
            probe = socket.socket(family, kind)
        except OSError:  # a host without this family
            continue
        with probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                probe.bind((address, port))
            except OSError:
                raise Failed("port_taken", f"port {port}/{protocol} of the host is in use") from None
