"""The app on one host: a user, a program, a systemd unit. Every function is repeatable."""

from gpuaas_sdk.controller import Host, HostInstaller, PublishedArtifact

PORTS = {"hub": 7007, "relay": 7008}
ENQ = b"\x05"  # a line with only this asks how many lines were answered
PROGRAM, USER = "/opt/echo/echod", "echo"


def unit(role: str) -> str:
    return f"echo-{role}.service"


async def install(host: HostInstaller, program: PublishedArtifact) -> None:
    await host.user(USER)
    await host.put(PROGRAM, program, mode=0o755)


async def start(host: HostInstaller, role: str, version: str, arguments: list[str], *, restart: bool = False) -> None:
    command = [PROGRAM, str(PORTS[role]), *arguments]
    description = f"echo {role} {version}"
    await host.unit(unit(role), command, user=USER, description=description, listens=[PORTS[role]], restart=restart)


async def drain(host: Host, role: str) -> None:
    if (await host.sudo(["systemctl", "is-active", "--quiet", unit(role)], check=False)).ok:
        await host.sudo(["systemctl", "kill", "--signal=USR1", unit(role)])
