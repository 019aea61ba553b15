"""ssh-grants: public keys that may log in to an allocation for a limited time."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.commands.ssh_keys import read_public_key
from gpuaas_cli.options import ProjectOption, YesOption, expiry
from gpuaas_cli.output import Column, print_list
from gpuaas_cli.references import allocation_id, credential_id, project_id, ssh_key_id
from gpuaas_cli.session import Session
from gpuaas_sdk import NewSshGrant, SshGrant

group = CommandGroup("SSH grants: public keys that may log in to an allocation for a limited time.")

AllocationArgument = Annotated[str, typer.Argument(help="Allocation: id or name.")]


def _state(grant: SshGrant) -> str:
    if grant.revoked_at is not None:
        return "revoked"
    ended = grant.expires_at is not None and grant.expires_at <= datetime.now(UTC)
    return "expired" if ended else "active"


COLUMNS: list[Column[SshGrant]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("STATE", _state, whole=True),
    Column("KEY", lambda one: one.fingerprint),
    Column("EXPIRES", lambda one: one.expires_at, whole=True),
    Column("NOTE", lambda one: one.note),
]


@group.verb("list")
def list_(session: Session, allocation: AllocationArgument, project: ProjectOption = None) -> None:
    """List the grants on an allocation."""
    where, found = _find(session, project, allocation)
    print_list(session, session.client.ssh_access.grants(where, found), COLUMNS)


@group.verb("create")
def create(
    session: Session,
    allocation: AllocationArgument,
    key: Annotated[str | None, typer.Option("--key", help="One of your keys: id, name or fingerprint.")] = None,
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", exists=True, dir_okay=False, help="A public key file instead of a stored key."),
    ] = None,
    credential: Annotated[
        str | None,
        typer.Option("--credential", help="A credential of the project (ssh_key) instead of a key: id or name."),
    ] = None,
    expires: Annotated[str, typer.Option("--expires", help="90m, 12h, 7d, or a time.")] = "12h",
    note: Annotated[str | None, typer.Option("--note", help="Whose key it is, and its purpose.")] = None,
    project: ProjectOption = None,
) -> None:
    """Let a public key log in until the grant expires or is deleted."""
    if sum(one is not None for one in (key, key_file, credential)) != 1:
        raise typer.BadParameter("Give one of --key, --key-file and --credential.")
    until = expiry(expires)
    if until is None:
        raise typer.BadParameter("A grant needs an end time: give --expires.")
    where, found = _find(session, project, allocation)
    new = NewSshGrant(
        expires_at=until,
        public_key=read_public_key(key_file) if key_file else None,
        ssh_key_id=ssh_key_id(session.client, key) if key else None,
        access_credential_id=credential_id(session.client, where, credential) if credential else None,
        note=note,
    )
    print_list(session, [session.client.ssh_access.create_grant(where, found, new)], COLUMNS)


@group.verb("delete")
def delete(
    session: Session,
    allocation: AllocationArgument,
    grant: Annotated[str, typer.Argument(help="Grant id (grt_…).")],
    project: ProjectOption = None,
    yes: YesOption = False,
) -> None:
    """Delete a grant. The host applies it immediately."""
    session.confirm(f"Delete the grant {grant}?", yes)
    where, found = _find(session, project, allocation)
    session.client.ssh_access.delete_grant(where, found, grant)
    session.say(f"{grant} is deleted.")


def _find(session: Session, project: str | None, allocation: str) -> tuple[str, str]:
    where = project_id(session, project)
    return where, allocation_id(session.client, where, allocation)
