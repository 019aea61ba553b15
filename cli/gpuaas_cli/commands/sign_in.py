"""login, logout, whoami, password."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.configuration import Configuration, StoredSignIn
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.output import print_card
from gpuaas_cli.session import Session, ask_secret, with_token
from gpuaas_sdk import Credentials, GpuaasError, PasswordCredentials, RoleBinding, ServiceAccountCredentials


def add_to(app: CommandGroup) -> None:
    app.verb("login")(login)
    app.verb("logout")(logout)
    app.verb("whoami")(whoami)
    app.verb("password")(password)


def login(
    session: Session,
    username: Annotated[
        str | None, typer.Argument(help="Your e-mail address. The command asks for it if it is missing.")
    ] = None,
    server: Annotated[str | None, typer.Option("--server", "-s", help="Address of the server.")] = None,
    service_account: Annotated[
        str | None, typer.Option("--service-account", help="Sign in as this service account (sva_…).")
    ] = None,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password or secret from standard input.")
    ] = False,
    ca_file: Annotated[
        Path | None,
        typer.Option("--ca-file", exists=True, dir_okay=False, help="CA certificate of the server (PEM)."),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option("--certificate", exists=True, dir_okay=False, help="Client certificate to present (PEM)."),
    ] = None,
    certificate_key: Annotated[
        Path | None,
        typer.Option(
            "--certificate-key", exists=True, dir_okay=False, help="The certificate's key, if it has its own file."
        ),
    ] = None,
) -> None:
    """Sign in, for 12 hours by default. The command asks for the password or reads it from standard input."""
    known = session.configuration
    session.configuration = Configuration(
        server=(server or session.server).rstrip("/"),
        project=known.project,
        ca_file=str(ca_file.resolve()) if ca_file else known.ca_file,
        certificate_file=str(certificate.resolve()) if certificate else known.certificate_file,
        certificate_key_file=str(certificate_key.resolve()) if certificate_key else known.certificate_key_file,
    )
    session.server = session.configuration.server
    name = service_account or username or _prompt("E-mail")
    secret = _secret(name, password_stdin)
    credentials: Credentials = (
        ServiceAccountCredentials(name, secret) if service_account else PasswordCredentials(name, secret)
    )
    with session.connect() as client:
        token = client.sign_in(credentials)
    kind = "service_account" if service_account else "user"
    begun = StoredSignIn(kind, name, token.access_token, token.expires_at, secret if service_account else None)
    session.store.save(session.server, with_token(begun, token))
    session.configuration.save()
    whoami(session)


def logout(session: Session) -> None:
    """End the session on the server and remove the stored sign-in."""
    stored = session.store.load(session.server)
    session.store.forget(session.server)
    if stored is None:
        session.say(f"You were not signed in to {session.server}.")
        return
    if stored.refresh_token is not None:
        _end_session(session, stored.refresh_token, stored.session_expires_at)
    session.say(f"Signed out of {session.server}.")


def _end_session(session: Session, refresh_token: str, until: str | None) -> None:
    try:
        with session.connect() as client:
            client.sign_out(refresh_token)
    except GpuaasError as error:
        raise CommandFailed(
            error.code,
            f"The stored sign-in is removed, but the server could not be reached: {error.detail}",
            f"The session expires at {until}.",
        ) from error


def whoami(session: Session) -> None:
    """Show your identity and your roles."""
    me = session.client.me.show()
    print_card(
        session,
        me,
        [
            ("Name", me.name),
            ("E-mail", me.email),
            ("Id", me.id),
            ("Kind", me.kind.replace("_", " ")),
            ("Tenant", me.tenant_id),
            ("Roles", "\n".join(_role(role) for role in me.roles)),
            ("Scopes", me.scopes),
            ("Server", session.server),
        ],
    )


def password(
    session: Session,
    password_stdin: Annotated[
        bool,
        typer.Option("--password-stdin", help="Read the old and the new password from standard input, as two lines."),
    ] = False,
) -> None:
    """Change your password. All your sign-ins end, including this one."""
    if password_stdin:
        current, new = sys.stdin.readline().rstrip("\n"), sys.stdin.readline().rstrip("\n")
    else:
        current, new = ask_secret("Current password"), _new_password()
    session.client.me.change_password(current, new)
    session.store.forget(session.server)
    session.say("Password changed. Sign in again with `gpuaas login`.")


def _new_password() -> str:
    return str(typer.prompt("New password", hide_input=True, confirmation_prompt=True, err=True))


def _role(role: RoleBinding) -> str:
    place = role.project_id or role.tenant_id
    return f"{role.role} in {place}" if place else role.role


def _secret(name: str, from_stdin: bool) -> str:
    if from_stdin:
        secret = sys.stdin.readline().rstrip("\r\n")
        if not secret:
            raise CommandFailed(
                "usage", "Standard input was empty.", "Pipe the password into the command.", ExitCode.USAGE
            )
        return secret
    _need_terminal("Give the password with --password-stdin.")
    return ask_secret(f"Password of {name}")


def _prompt(what: str) -> str:
    _need_terminal("Name the user as an argument.")
    return str(typer.prompt(what, err=True))


def _need_terminal(next_step: str) -> None:
    if not sys.stdin.isatty():
        raise CommandFailed("usage", "There is no terminal to ask for input.", next_step, ExitCode.USAGE)
