"""allocations ssh and allocations terminal: a shell, or one command, on an allocation."""

from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.commands import terminals
from gpuaas_cli.failures import CommandFailed
from gpuaas_cli.options import ProjectOption, SourceAddressOption
from gpuaas_cli.references import allocation_id, project_id
from gpuaas_cli.session import Session
from gpuaas_cli.ssh_session import ephemeral_key, public_key_of, run_ssh, ssh_arguments


def add_to(group: CommandGroup) -> None:
    group.verb("ssh")(ssh)
    group.verb("terminal")(terminals.open_terminal)


def ssh(
    session: Session,
    allocation: Annotated[str, typer.Argument(help="Allocation: id or name.")],
    remote_command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND...]", help="Command to run instead of a shell.")
    ] = None,
    minutes: Annotated[
        int | None,
        typer.Option("--minutes", min=1, max=60, help="How long the certificate can open new sessions."),
    ] = None,
    source_address: SourceAddressOption = None,
    project: ProjectOption = None,
) -> None:
    """Open a shell on an allocation, or run a command there. Returns the exit code of ssh."""
    client = session.client
    where = project_id(session, project)
    found = allocation_id(client, where, allocation)
    with ephemeral_key() as key:
        issued = client.ssh_access.create_certificate(
            where, found, public_key_of(key), minutes=minutes, source_addresses=source_address
        )
        if not issued.host_ca_keys:
            raise CommandFailed(
                "host_ca_missing", "The platform named no host CA, so the host's identity cannot be checked."
            )
        status = run_ssh(ssh_arguments(key, found, issued, remote_command or []))
    raise typer.Exit(status)
