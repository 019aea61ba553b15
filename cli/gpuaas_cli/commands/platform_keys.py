"""platform-keys: the keys that sign tasks and certificates."""

from enum import StrEnum
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.options import ReasonOption, YesOption
from gpuaas_cli.output import Column, age, print_list
from gpuaas_cli.session import Session
from gpuaas_sdk import PlatformKey

group = CommandGroup("Platform keys: they sign tasks and certificates.")


class Kind(StrEnum):
    TASK_SIGNING = "task_signing"
    SSH_USER_CA = "ssh_user_ca"
    SSH_HOST_CA = "ssh_host_ca"
    TLS_CA = "tls_ca"
    REGISTRY_TOKEN = "registry_token"  # noqa: S105


def _waits_for(key: PlatformKey) -> str:
    """List the nodes whose agents do not trust a TLS CA yet."""
    if key.unconfirmed is None:
        return ""
    more = key.unconfirmed.total - len(key.unconfirmed.names)
    return ", ".join([*key.unconfirmed.names, f"and {more} more"] if more > 0 else key.unconfirmed.names)


COLUMNS: list[Column[PlatformKey]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("KIND", lambda one: one.kind, whole=True),
    Column("STATE", lambda one: one.state, whole=True),
    Column("SIGNS FROM", lambda one: one.signs_from, whole=True),
    Column("CUSTODY", lambda one: one.custody, whole=True),
    Column("UNDER", lambda one: one.secret_key_id),
    Column("FINGERPRINT", lambda one: one.fingerprint),
    Column("NOT CONFIRMED BY", _waits_for),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
]


@group.verb("list")
def list_(session: Session) -> None:
    """List the keys, newest first: which key of each kind signs (active), and what protects its private key."""
    print_list(session, session.client.platform_keys.list(), COLUMNS)


@group.verb("rotate")
def rotate(
    session: Session,
    kind: Annotated[Kind, typer.Argument(help="Which key.")],
    reason: ReasonOption,
    yes: YesOption = False,
) -> None:
    """Create a new key. It is published now and signs after ten minutes. Older keys are trusted until you retire them."""
    session.confirm(f"Create a new {kind.value} key?", yes)
    print_list(session, [session.client.platform_keys.rotate(kind.value, reason)], COLUMNS)


@group.verb("retire")
def retire(
    session: Session,
    key: Annotated[str, typer.Argument(help="Key id (pky_…).")],
    reason: ReasonOption,
    yes: YesOption = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Retire a TLS CA although some agents do not trust its successor. Those agents lose their connection.",
        ),
    ] = False,
) -> None:
    """Retire an old key. A newer key must sign already; for a TLS CA, all connected agents must have confirmed it."""
    session.confirm(f"Retire {key}? Everything that it signed loses its trust.", yes)
    print_list(session, [session.client.platform_keys.retire(key, reason, force=force)], COLUMNS)
