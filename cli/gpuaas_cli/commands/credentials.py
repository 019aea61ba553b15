"""credentials: SSH certificates and stored keys by which people and programs reach a project's allocations."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.commands.ssh_keys import read_public_key
from gpuaas_cli.failures import CommandFailed
from gpuaas_cli.options import LimitOption, ProjectOption, ReasonOption, SourceAddressOption, YesOption
from gpuaas_cli.output import Column, age, print_list
from gpuaas_cli.references import allocation_id, credential_id, project_id
from gpuaas_cli.session import Session
from gpuaas_sdk import AccessCredential, CredentialDelivery

group = CommandGroup("Credentials of a project: SSH certificates under a name, or keys that the platform stores.")

CredentialArgument = Annotated[str, typer.Argument(help="Credential: id or name.")]


class Kind(StrEnum):
    SSH_CERTIFICATE = "ssh_certificate"
    SSH_KEY = "ssh_key"


COLUMNS: list[Column[AccessCredential]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("NAME", lambda one: one.name),
    Column("KIND", lambda one: one.kind, whole=True),
    Column("STATE", lambda one: "revoked" if one.revoked_at else "active", whole=True),
    Column("VERSION", lambda one: one.version, right=True, whole=True),
    Column("KEY", lambda one: one.fingerprint),
    Column("AGE", lambda one: age(one.rotated_at or one.created_at), right=True, whole=True),
]
LOG: list[Column[CredentialDelivery]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("TO", lambda one: one.delivered_to, whole=True),
    Column("VERSION", lambda one: one.version, right=True, whole=True),
    Column("FOR KEY", lambda one: one.recipient_fingerprint),
    Column("SERIAL", lambda one: one.serial, right=True, whole=True),
    Column("AT", lambda one: one.delivered_at, whole=True),
]


@group.verb("list")
def list_(session: Session, limit: LimitOption = 100, project: ProjectOption = None) -> None:
    """List the credentials of a project, including revoked ones."""
    where = project_id(session, project)
    print_list(session, session.client.access_credentials.list(where).first(limit), COLUMNS)


@group.verb("show")
def show(session: Session, credential: CredentialArgument, project: ProjectOption = None) -> None:
    """Show one credential."""
    where, found = _find(session, project, credential)
    print_list(session, [session.client.access_credentials.show(where, found)], COLUMNS)


@group.verb("create")
def create(
    session: Session,
    name: Annotated[str, typer.Argument(help="What it is for.")],
    kind: Annotated[Kind, typer.Option("--kind", help="A new certificate for each use, or a stored key.")] = (
        Kind.SSH_CERTIFICATE
    ),
    project: ProjectOption = None,
) -> None:
    """Create a credential. An ssh_certificate stores nothing; an ssh_key is a new key pair, stored encrypted."""
    where = project_id(session, project)
    print_list(session, [session.client.access_credentials.create(where, name, kind=kind.value)], COLUMNS)


@group.verb("rotate")
def rotate(
    session: Session,
    credential: CredentialArgument,
    overlap: Annotated[
        int, typer.Option("--overlap", min=0, max=1440, help="Minutes for which the old key stays valid.")
    ] = 0,
    project: ProjectOption = None,
    yes: YesOption = False,
) -> None:
    """Replace an ssh_key with a new key on every allocation that uses it."""
    session.confirm(f"Replace the key of {credential}?", yes)
    where, found = _find(session, project, credential)
    print_list(session, [session.client.access_credentials.rotate(where, found, overlap_minutes=overlap)], COLUMNS)


@group.verb("revoke")
def revoke(
    session: Session,
    credential: CredentialArgument,
    reason: ReasonOption,
    project: ProjectOption = None,
    yes: YesOption = False,
) -> None:
    """Revoke a credential. Its key is removed from hosts, its certificates end, its private key is destroyed."""
    session.confirm(f"Revoke {credential}? This cannot be undone.", yes)
    where, found = _find(session, project, credential)
    print_list(session, [session.client.access_credentials.revoke(where, found, reason)], COLUMNS)


@group.verb("get-key")
def get_key(
    session: Session,
    credential: CredentialArgument,
    to: Annotated[Path, typer.Option("--to", dir_okay=False, help="File to write the private key to (mode 0600).")],
    project: ProjectOption = None,
) -> None:
    """Write the private key of an ssh_key to a file. It is encrypted in transit, and the delivery is logged."""
    where, found = _find(session, project, credential)
    _write_private(to, session.client.access_credentials.private_key(where, found))
    session.say(f"The private key is in {to}.")


@group.verb("get-certificate")
def get_certificate(
    session: Session,
    credential: CredentialArgument,
    allocation: Annotated[str, typer.Argument(help="Allocation: id or name.")],
    key_file: Annotated[
        Path,
        typer.Option(
            "--key-file", exists=True, dir_okay=False, help="Your public key; the certificate is written beside it."
        ),
    ],
    minutes: Annotated[
        int | None, typer.Option("--minutes", min=1, max=60, help="How long the certificate is valid.")
    ] = None,
    source_address: SourceAddressOption = None,
    project: ProjectOption = None,
) -> None:
    """Get a certificate of this credential for your key on an allocation."""
    where, found = _find(session, project, credential)
    place = allocation_id(session.client, where, allocation)
    delivery = session.client.access_credentials.deliver(
        where,
        found,
        public_key=read_public_key(key_file),
        allocation_id=place,
        minutes=minutes,
        source_addresses=source_address,
    )
    if delivery.certificate is None:
        raise CommandFailed("no_certificate", "The platform sent no certificate.", "Use get-key for an ssh_key.")
    target = key_file.with_name(f"{key_file.name.removesuffix('.pub')}-cert.pub")
    target.write_text(delivery.certificate.certificate + "\n")
    session.say(f"The certificate is in {target}, until {delivery.certificate.valid_before}.")


@group.verb("deliveries")
def deliveries(
    session: Session, credential: CredentialArgument, limit: LimitOption = 100, project: ProjectOption = None
) -> None:
    """Show the delivery log: who received what, and for which key."""
    where, found = _find(session, project, credential)
    print_list(session, session.client.access_credentials.deliveries(where, found).first(limit), LOG)


def _write_private(path: Path, clear: bytes) -> None:
    """Write a new file that only its owner can read, from its first byte on; never overwrite another file."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise CommandFailed("file_exists", f"{path} exists.", "Name another file, or remove it first.") from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(clear)


def _find(session: Session, project: str | None, credential: str) -> tuple[str, str]:
    where = project_id(session, project)
    return where, credential_id(session.client, where, credential)
