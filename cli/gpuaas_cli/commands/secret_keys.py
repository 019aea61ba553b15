"""secret-keys: the keys that protect stored secrets."""

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.options import ReasonOption, YesOption
from gpuaas_cli.output import Column, age, print_list
from gpuaas_cli.session import Session
from gpuaas_sdk import SecretKey

group = CommandGroup("Secret keys: they encrypt the stored secrets.")

COLUMNS: list[Column[SecretKey]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("BACKEND", lambda one: one.backend, whole=True),
    Column("VERSION", lambda one: one.version, right=True, whole=True),
    Column("STATE", lambda one: "destroyed" if one.retired_at else "in use", whole=True),
    Column("PROTECTS", lambda one: one.protects, right=True, whole=True),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
]


@group.verb("list")
def list_(session: Session) -> None:
    """List the keys, newest first, with the number of secrets that each encrypts."""
    print_list(session, session.client.secret_keys.list(), COLUMNS)


@group.verb("rotate")
def rotate(session: Session, reason: ReasonOption, yes: YesOption = False) -> None:
    """Create a new key. Stored secrets are re-encrypted in the background; then the old key is destroyed."""
    session.confirm("Create a new key for all stored secrets?", yes)
    print_list(session, [session.client.secret_keys.rotate(reason)], COLUMNS)
