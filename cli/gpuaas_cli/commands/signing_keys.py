"""signing-keys: the keys that sign access tokens."""

from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.options import YesOption
from gpuaas_cli.output import Column, age, print_list
from gpuaas_cli.session import Session
from gpuaas_sdk import SigningKey

group = CommandGroup("Signing keys: they sign access tokens.")

COLUMNS: list[Column[SigningKey]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("STATE", lambda one: "signs" if one.verifies_until is None else "old", whole=True),
    Column("VERIFIES UNTIL", lambda one: one.verifies_until, whole=True),
    Column("CUSTODY", lambda one: one.custody, whole=True),
    Column("UNDER", lambda one: one.secret_key_id),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
]


@group.verb("list")
def list_(session: Session) -> None:
    """List the keys, newest first."""
    print_list(session, session.client.signing_keys.list(), COLUMNS)


@group.verb("rotate")
def rotate(session: Session, yes: YesOption = False) -> None:
    """Create a new signing key. Tokens of the old key stay valid until they expire."""
    session.confirm("Create a new signing key?", yes)
    print_list(session, [session.client.signing_keys.rotate()], COLUMNS)


@group.verb("revoke")
def revoke(
    session: Session, key: Annotated[str, typer.Argument(help="Key id (sgk_…).")], yes: YesOption = False
) -> None:
    """Revoke a leaked key. Every access token that it signed ends now; sessions continue with a new key."""
    session.confirm(f"Revoke {key}? Every access token that it signed ends.", yes)
    session.client.signing_keys.revoke(key)
    session.say(f"{key} is revoked.")
