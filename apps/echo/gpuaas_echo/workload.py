"""What the app is on one host: a program, a user, a unit. Every function looks first, and may be repeated."""

from importlib.resources import files

from gpuaas_sdk.controller import Failed, Host

PORTS = {"hub": 7007, "relay": 7008}
FOLDER, PROGRAM, USER = "/opt/echo", "/opt/echo/echod", "echo"
UNIT_FILES = "/etc/systemd/system"


def program() -> str:
    """What was published, and so what runs."""
    return files("gpuaas_echo").joinpath("echod").read_text()


def unit(role: str) -> str:
    return f"echo-{role}.service"


def unit_text(role: str, greeting: str, hub: str | None) -> str:
    # In systemd's own quotes a percent sign and a dollar are doubled; the manifest allows no quote and no backslash.
    said = greeting.replace("%", "%%").replace("$", "$$")
    words = [PROGRAM, str(PORTS[role]), f'"{said}"', *([hub] if hub else [])]
    return (
        f"[Unit]\nDescription=echo {role}\nAfter=network.target\n\n"
        f"[Service]\nExecStart={' '.join(words)}\nUser={USER}\nRestart=on-failure\n\n"
        f"[Install]\nWantedBy=multi-user.target\n"
    )


async def install(host: Host, role: str, greeting: str, hub: str | None) -> bool:
    """Whether anything was not yet as it should be."""
    if not (await host.run(["id", "-u", USER], check=False)).ok:
        await host.sudo(["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", USER])
    new_program = await host.put(PROGRAM, program(), 0o755)
    new_unit = await host.put(f"{UNIT_FILES}/{unit(role)}", unit_text(role, greeting, hub))
    await host.sudo(["systemctl", "daemon-reload"])
    return new_program or new_unit


async def start(host: Host, role: str, *, afresh: bool = False) -> None:
    await host.sudo(["systemctl", "enable", "--quiet", unit(role)])
    await host.sudo(["systemctl", "restart" if afresh else "start", unit(role)])
    probe = f"import socket; socket.create_connection(('127.0.0.1', {PORTS[role]}), 1)"
    for _ in range(20):
        if (await host.run(["python3", "-c", probe], check=False)).ok:
            return
    raise Failed("not_listening", f"{unit(role)} on {host.address} does not listen.", next_step="Read its journal.")


async def drain(host: Host, role: str) -> None:
    if (await host.sudo(["systemctl", "is-active", "--quiet", unit(role)], check=False)).ok:
        await host.sudo(["systemctl", "kill", "--signal=USR1", unit(role)])


async def stop(host: Host, role: str) -> None:
    """It does not run, and a reboot does not start it."""
    await host.sudo(["systemctl", "disable", "--now", "--quiet", unit(role)], check=False)
    await host.sudo(["systemctl", "reset-failed", unit(role)], check=False)


async def remove(host: Host, role: str) -> None:
    await stop(host, role)
    await host.sudo(["rm", "-rf", "--", FOLDER, f"{UNIT_FILES}/{unit(role)}"])
    await host.sudo(["systemctl", "daemon-reload"])
    if (await host.run(["id", "-u", USER], check=False)).ok:
        await host.sudo(["userdel", USER])
