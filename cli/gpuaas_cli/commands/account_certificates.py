"""service-accounts certificates: TLS client certificates to which a program's tokens are bound."""

from pathlib import Path
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.options import ProjectOption, YesOption
from gpuaas_cli.output import Column, age, print_card, print_list
from gpuaas_cli.references import project_id, service_account_id
from gpuaas_cli.session import Session
from gpuaas_sdk import ServiceAccountCertificate

group = CommandGroup("Client certificates of a service account.")

AccountArgument = Annotated[str, typer.Argument(help="Service account: id or name.")]
COLUMNS: list[Column[ServiceAccountCertificate]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("THUMBPRINT", lambda one: one.thumbprint),
    Column("EXPIRES", lambda one: one.expires_at, whole=True),
    Column("USED", lambda one: age(one.last_used_at), right=True, whole=True),
]


@group.verb("list")
def list_(session: Session, account: AccountArgument, project: ProjectOption = None) -> None:
    """List the client certificates of a service account."""
    print_list(session, session.client.service_accounts.certificates(*_find(session, project, account)), COLUMNS)


@group.verb("create")
def create(
    session: Session,
    account: AccountArgument,
    request: Annotated[
        Path,
        typer.Option(
            "--request",
            exists=True,
            dir_okay=False,
            help="Certificate request (PEM), for example from `openssl req -new`.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", dir_okay=False, help="Write the certificate to this file.")
    ] = None,
    days: Annotated[int, typer.Option("--days", min=1, max=365, help="How long the certificate is valid.")] = 90,
    project: ProjectOption = None,
) -> None:
    """Sign a certificate request of the program. Its private key stays where it is."""
    where, found = _find(session, project, account)
    made = session.client.service_accounts.create_certificate(where, found, request.read_text(), days=days)
    if out is not None:
        out.write_text(made.certificate)
    fields = [
        ("Service account", found),
        ("Id", made.id),
        ("Thumbprint", made.thumbprint),
        ("Expires", made.expires_at),
        ("File", str(out) if out else None),
    ]
    print_card(session, made, fields)
    if out is None:
        session.say(made.certificate.rstrip())


@group.verb("delete")
def delete(
    session: Session,
    account: AccountArgument,
    certificate: Annotated[str, typer.Argument(help="Certificate id (sac_…).")],
    project: ProjectOption = None,
    yes: YesOption = False,
) -> None:
    """Delete a certificate. The platform then refuses it and the tokens that are bound to it."""
    session.confirm(f"Delete the certificate {certificate} of {account}?", yes)
    where, found = _find(session, project, account)
    session.client.service_accounts.delete_certificate(where, found, certificate)
    session.say(f"{certificate} is deleted.")


@group.verb("require")
def require(session: Session, account: AccountArgument, project: ProjectOption = None, yes: YesOption = False) -> None:
    """Require one of the account's certificates for each sign-in and each token."""
    session.confirm(f"Refuse {account} whenever it presents no client certificate?", yes)
    where, found = _find(session, project, account)
    session.client.service_accounts.update(where, found, certificate_required=True)
    session.say(f"{account} must now present one of its certificates.")


@group.verb("make-optional")
def make_optional(session: Session, account: AccountArgument, project: ProjectOption = None) -> None:
    """Let the account sign in without a certificate again."""
    where, found = _find(session, project, account)
    session.client.service_accounts.update(where, found, certificate_required=False)
    session.say(f"{account} may now sign in without a certificate.")


def _find(session: Session, project: str | None, account: str) -> tuple[str, str]:
    where = project_id(session, project)
    return where, service_account_id(session.client, where, account)
