"""Runs the demo's control plane, `gpuaas-server up`, as a child process on fresh data; it ends with the demo."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gpuaas_lab.errors import LabError
from gpuaas_sdk.child_process import end_with_parent
from gpuaas_sdk.testing.ports import free_port

START_SECONDS = 180.0  # long, because a start on a busy machine is slow
STOP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class RunningPlatform:
    url: str
    agent_url: str
    admin_email: str
    admin_password: str
    log_file: Path


def _port_of_gateway(address: str, wanted: int) -> int:
    """Return the preferred port, or any free one if it is in use. Only this fleet uses its gateway address."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port in TIME_WAIT is free
            try:
                probe.bind((address, port))
            except OSError:
                continue
            found: int = probe.getsockname()[1]
            return found
    raise LabError(f"no free port on {address}")


def http_bind(environment: Mapping[str, str]) -> str:
    """Return the address that GPUAAS_HTTP_BIND names, or a free port of this machine if it names none."""
    return environment.get("GPUAAS_HTTP_BIND") or f"127.0.0.1:{free_port(8080)}"


@contextmanager
def running_platform(data_dir: Path, gateway: str | None, apps: Mapping[str, str]) -> Iterator[RunningPlatform]:
    """Run the platform, with the settings of its own apps. Lab hosts reach it by HTTPS at `gateway`; without one, the agents
    run on this machine.
    """
    shutil.rmtree(data_dir, ignore_errors=True)
    data_dir.mkdir(parents=True, mode=0o755)
    address = http_bind(os.environ)
    url = f"http://{address}"
    environment = {**os.environ, "GPUAAS_DATA_DIR": str(data_dir), "GPUAAS_HTTP_BIND": address, **apps}
    agent_url = url
    if gateway is not None:
        secure = _port_of_gateway(gateway, 8443)
        agent_url = f"https://{gateway}:{secure}"
        environment["GPUAAS_HTTPS_BIND"] = f"{gateway}:{secure}"
        environment["GPUAAS_REGISTRY_BIND"] = f"{gateway}:{_port_of_gateway(gateway, 5000)}"
    environment["GPUAAS_AGENT_URLS"] = json.dumps([agent_url])
    log_file, admin_file = data_dir / "platform.log", data_dir / "admin.json"
    process = _start(environment, log_file, admin_file)
    try:
        _wait_ready(process, url, log_file)
        admin = json.loads(admin_file.read_text())
        yield RunningPlatform(url, agent_url, admin["email"], admin["password"], log_file)
    finally:
        stop(process)
        shutil.rmtree(data_dir / "platform-apps", ignore_errors=True)  # the keys of its controllers


def _start(environment: dict[str, str], log_file: Path, admin_file: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "gpuaas_server.main", "up", "--admin-file", str(admin_file)]
    with log_file.open("ab") as log:
        return subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, preexec_fn=end_with_parent(signal.SIGTERM, own_group=True)
        )


def _wait_ready(process: "subprocess.Popen[bytes]", url: str, log_file: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/readyz", timeout=2):  # noqa: S310 - our own address
                return
        except OSError:
            time.sleep(0.05)
    raise LabError(f"the platform did not start; the end of {log_file}:\n{log_file.read_text()[-2000:]}")


def stop(process: "subprocess.Popen[bytes]", seconds: float = STOP_SECONDS) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
