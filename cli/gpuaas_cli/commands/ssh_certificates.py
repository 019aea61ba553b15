"""ssh-certificates: list and revoke the certificates that give access to an allocation."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.options import LimitOption, ProjectOption, ReasonOption, YesOption
from gpuaas_cli.output import Column, print_card, print_list
from gpuaas_cli.references import allocation_id, principal_id, project_id
from gpuaas_cli.session import Session
from gpuaas_sdk import IssuedSshCertificate

group = CommandGroup("SSH certificates that give access to an allocation.")

AllocationArgument = Annotated[str, typer.Argument(help="Allocation: id or name.")]


def _state(certificate: IssuedSshCertificate) -> str:
    if certificate.revoked_at is not None:
        return "revoked"
    ended = certificate.valid_before is not None and certificate.valid_before <= datetime.now(UTC)
    return "expired" if ended else "active"


COLUMNS: list[Column[IssuedSshCertificate]] = [
    Column("SERIAL", lambda one: one.serial, right=True, whole=True),
    Column("STATE", _state, whole=True),
    Column("HOLDER", lambda one: one.issued_to, whole=True),
    Column("KEY", lambda one: one.fingerprint),
    Column("UNTIL", lambda one: one.valid_before, whole=True),
]


@group.verb("list")
def list_(
    session: Session, allocation: AllocationArgument, limit: LimitOption = 100, project: ProjectOption = None
) -> None:
    """List the certificates issued for an allocation, newest first."""
    where, found = _find(session, project, allocation)
    print_list(session, session.client.ssh_access.certificates(where, found).first(limit), COLUMNS)


@group.verb("revoke")
def revoke(
    session: Session,
    allocation: AllocationArgument,
    reason: ReasonOption,
    serial: Annotated[
        int | None, typer.Option("--serial", min=1, help="Only the certificate with this serial.")
    ] = None,
    holder: Annotated[
        str | None,
        typer.Option("--holder", help="Only certificates of this member (e-mail or id) or service account (id)."),
    ] = None,
    project: ProjectOption = None,
    yes: YesOption = False,
) -> None:
    """Revoke certificates: your own, or anyone's if you are an administrator. The host ends the sessions they opened."""
    which = f"the certificate {serial}" if serial else f"the certificates of {holder}" if holder else "all certificates"
    session.confirm(f"Revoke {which} on {allocation}?", yes)
    where, found = _find(session, project, allocation)
    issued_to = principal_id(session.client, where, holder) if holder else None
    ended = session.client.ssh_access.revoke_certificate(
        where, found, reason=reason, serial=serial, issued_to=issued_to
    )
    print_card(
        session, ended, [("Revoked", ", ".join(str(one) for one in ended.revoked) or "there was none to revoke")]
    )


def _find(session: Session, project: str | None, allocation: str) -> tuple[str, str]:
    where = project_id(session, project)
    return where, allocation_id(session.client, where, allocation)
