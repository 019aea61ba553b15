"""ssh-keys: your own public keys."""

from pathlib import Path
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.options import YesOption
from gpuaas_cli.output import Column, age, print_card, print_list
from gpuaas_cli.references import ssh_key_id
from gpuaas_cli.session import Session
from gpuaas_sdk import SshKey

group = CommandGroup("Your own SSH public keys.")

PublicKeyFile = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, help="Public key file, such as ~/.ssh/id_ed25519.pub.")
]
COLUMNS: list[Column[SshKey]] = [
    Column("NAME", lambda one: one.name),
    Column("FINGERPRINT", lambda one: one.fingerprint),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
    Column("ID", lambda one: one.id, whole=True),
]


@group.verb("list")
def list_(session: Session) -> None:
    """List your keys."""
    print_list(session, session.client.ssh_keys.list(), COLUMNS)


@group.verb("add")
def add(
    session: Session,
    file: PublicKeyFile,
    name: Annotated[str | None, typer.Option("--name", help="Name of the key. Default: the file's name.")] = None,
) -> None:
    """Add a public key."""
    key = session.client.ssh_keys.create(name or file.stem, read_public_key(file))
    print_card(session, key, [("Name", key.name), ("Fingerprint", key.fingerprint), ("Id", key.id)])


@group.verb("delete")
def delete(
    session: Session,
    key: Annotated[str, typer.Argument(help="Key: id, name or fingerprint.")],
    yes: YesOption = False,
) -> None:
    """Delete a key."""
    session.confirm(f"Delete the SSH key {key}?", yes)
    session.client.ssh_keys.delete(ssh_key_id(session.client, key))
    session.say(f"{key} is deleted.")


def read_public_key(file: Path) -> str:
    text = file.read_text().strip()
    if "PRIVATE KEY" in text:
        raise typer.BadParameter(f"{file} is a private key; give the public key ({file}.pub)")
    return text
