"""What a container needs of its host: the engine, GPUs, and ports that nobody uses."""

import os
import re
import socket

from host_commands import ENGINE, Failed, has_engine
from host_units import show

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
    return {"gpus": gpus, "shared": [path for path in SHARED if os.path.exists(path)]}


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
