"""The app on one host: a program, a user, a systemd unit. Every function checks the host first and is repeatable."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpuaas_sdk.controller import Failed, Host

PORTS = {"hub": 7007, "relay": 7008}
FOLDER, PROGRAM, USER = "/opt/echo", "/opt/echo/echod", "echo"
UNIT_FILES = "/etc/systemd/system"


@dataclass(frozen=True)
class Setup:
    """What to run: the published program, its version and greeting, and the address of a relay's hub."""

    program: str
    version: str
    greeting: str
    environment: Mapping[str, str]
    hub: str | None = None


def unit(role: str) -> str:
    return f"echo-{role}.service"


def unit_text(role: str, setup: Setup) -> str:
    # systemd needs % and $ doubled inside quotes; the manifest allows no quote and no backslash.
    greeting = setup.greeting.replace("%", "%%").replace("$", "$$")
    words = [PROGRAM, str(PORTS[role]), f'"{greeting}"', *([setup.hub] if setup.hub else [])]
    environment = "".join(f"Environment={name}={value}\n" for name, value in setup.environment.items())
    return (
        f"[Unit]\nDescription=echo {role} {setup.version}\nAfter=network.target\n\n"
        f"[Service]\nExecStart={' '.join(words)}\nUser={USER}\n{environment}Restart=on-failure\n\n"
        f"[Install]\nWantedBy=multi-user.target\n"
    )


async def install(host: Host, role: str, setup: Setup) -> None:
    if not (await host.run(["id", "-u", USER], check=False)).ok:
        await host.sudo(["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", USER])
    files = (PROGRAM, setup.program, 0o755), (f"{UNIT_FILES}/{unit(role)}", unit_text(role, setup), 0o644)
    if not all([await host.has_file(*file) for file in files]):
        # Stop it before the files change: if the controller dies in between, no old program keeps running.
        await host.sudo(["systemctl", "stop", unit(role)], check=False)
    for file in files:
        await host.put_file(*file)
    await host.sudo(["systemctl", "daemon-reload"])


async def start(host: Host, role: str, *, restart: bool = False) -> None:
    await host.sudo(["systemctl", "enable", "--quiet", unit(role)])
    await host.sudo(["systemctl", "restart" if restart else "start", unit(role)])
    probe = f"import socket; socket.create_connection(('127.0.0.1', {PORTS[role]}), 1)"
    for _ in range(20):
        if (await host.run(["python3", "-c", probe], check=False)).ok:
            return
    raise Failed("not_listening", f"{unit(role)} on {host.address} does not listen.", next_step="Read its journal.")


async def drain(host: Host, role: str) -> None:
    if (await host.sudo(["systemctl", "is-active", "--quiet", unit(role)], check=False)).ok:
        await host.sudo(["systemctl", "kill", "--signal=USR1", unit(role)])


async def stop(host: Host, role: str) -> None:
    """Stops the unit, so that a reboot does not start it either."""
    await host.sudo(["systemctl", "disable", "--now", "--quiet", unit(role)], check=False)
    await host.sudo(["systemctl", "reset-failed", unit(role)], check=False)


async def remove(host: Host, role: str) -> None:
    await stop(host, role)
    await host.sudo(["rm", "-rf", "--", FOLDER, f"{UNIT_FILES}/{unit(role)}"])
    await host.sudo(["systemctl", "daemon-reload"])
    if (await host.run(["id", "-u", USER], check=False)).ok:
        await host.sudo(["userdel", USER])
