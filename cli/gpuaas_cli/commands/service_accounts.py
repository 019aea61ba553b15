"""service-accounts: programs that act in a project, and their keys. For certificates see account_certificates.py."""

from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.commands import account_certificates
from gpuaas_cli.options import ExpiresOption, ProjectOption, YesOption, expiry
from gpuaas_cli.output import Column, age, print_card, print_list
from gpuaas_cli.references import project_id, service_account_id
from gpuaas_cli.session import Session
from gpuaas_sdk import NewServiceAccount, ServiceAccount, ServiceAccountKey

group = CommandGroup("Service accounts: programs that act in a project.")
keys = CommandGroup("Keys of a service account.")
group.add_typer(keys, name="keys")
group.add_typer(account_certificates.group, name="certificates")

AccountArgument = Annotated[str, typer.Argument(help="Service account: id or name.")]
KeyArgument = Annotated[str, typer.Argument(help="Key id (key_…).")]
ScopeOption = Annotated[list[str], typer.Option("--scope", help="What it may do; repeat for several.")]
AppsOption = Annotated[
    list[str] | None,
    typer.Option("--app", help="With scope apps:control, an app (slug) that it controls; repeat for several."),
]
COLUMNS: list[Column[ServiceAccount]] = [
    Column("NAME", lambda one: one.name),
    Column("SCOPES", lambda one: one.scopes),
    Column("APPS", lambda one: one.app_slugs),
    Column("STATUS", lambda one: "disabled" if one.disabled else "active", whole=True),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
    Column("ID", lambda one: one.id, whole=True),
]
KEY_COLUMNS: list[Column[ServiceAccountKey]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("STATUS", lambda one: "disabled" if one.disabled else "active", whole=True),
    Column("CREATED", lambda one: one.created_at, whole=True),
    Column("EXPIRES", lambda one: one.expires_at, whole=True),
    Column("USED", lambda one: age(one.last_used_at), right=True, whole=True),
]


@group.verb("list")
def list_(session: Session, project: ProjectOption = None) -> None:
    """List the service accounts of a project."""
    accounts = session.client.service_accounts.list(project_id(session, project))
    print_list(session, accounts, COLUMNS)


@group.verb("show")
def show(session: Session, account: AccountArgument, project: ProjectOption = None) -> None:
    """Show one service account."""
    where, found = _find(session, project, account)
    _print(session, session.client.service_accounts.show(where, found))


@group.verb("create")
def create(
    session: Session,
    name: Annotated[str, typer.Argument(help="Name, unique in the project.")],
    scope: ScopeOption,
    apps: AppsOption = None,
    expires: ExpiresOption = None,
    project: ProjectOption = None,
) -> None:
    """Create a service account with a first key. The secret is shown only once."""
    where = project_id(session, project)
    made = session.client.service_accounts.create(where, name, scope, expires_at=expiry(expires), app_slugs=apps)
    _print(session, made)


@group.verb("set-scopes")
def set_scopes(
    session: Session,
    account: AccountArgument,
    scope: ScopeOption,
    apps: AppsOption = None,
    project: ProjectOption = None,
) -> None:
    """Replace the scopes of a service account and, with --app, the apps that it controls."""
    where, found = _find(session, project, account)
    _print(session, session.client.service_accounts.update(where, found, scopes=scope, app_slugs=apps))


@group.verb("disable")
def disable(session: Session, account: AccountArgument, project: ProjectOption = None, yes: YesOption = False) -> None:
    """Disable a service account. Its tokens and keys are refused."""
    session.confirm(f"Disable the service account {account}?", yes)
    where, found = _find(session, project, account)
    _print(session, session.client.service_accounts.update(where, found, disabled=True))


@group.verb("enable")
def enable(session: Session, account: AccountArgument, project: ProjectOption = None) -> None:
    """Enable a disabled service account."""
    where, found = _find(session, project, account)
    _print(session, session.client.service_accounts.update(where, found, disabled=False))


@group.verb("delete")
def delete(session: Session, account: AccountArgument, project: ProjectOption = None, yes: YesOption = False) -> None:
    """Delete a service account permanently. Its keys, tokens, certificates and grants end immediately."""
    session.confirm(f"Delete the service account {account} permanently?", yes)
    where, found = _find(session, project, account)
    session.client.service_accounts.delete(where, found)
    session.say(f"{account} is deleted.")


@keys.verb("list")
def key_list(session: Session, account: AccountArgument, project: ProjectOption = None) -> None:
    """List the keys of a service account."""
    where, found = _find(session, project, account)
    print_list(session, session.client.service_accounts.keys(where, found), KEY_COLUMNS)


@keys.verb("rotate")
def key_rotate(
    session: Session, account: AccountArgument, expires: ExpiresOption = None, project: ProjectOption = None
) -> None:
    """Create another key. Its secret is shown only once. Old keys stay until they are deleted or expire."""
    where, found = _find(session, project, account)
    key = session.client.service_accounts.create_key(where, found, expires_at=expiry(expires))
    fields = [
        ("Service account", found),
        ("Key", key.id),
        ("Expires", key.expires_at),
        ("Secret", key.secret),
    ]
    print_card(session, key, fields)
    session.say("The secret is shown only once. Delete the old key when it is no longer in use.")


@keys.verb("disable")
def key_disable(
    session: Session, account: AccountArgument, key: KeyArgument, project: ProjectOption = None, yes: YesOption = False
) -> None:
    """Disable a key. The key and its tokens are refused until it is enabled again."""
    session.confirm(f"Disable the key {key} of {account}?", yes)
    _key_update(session, project, account, key, True)


@keys.verb("enable")
def key_enable(session: Session, account: AccountArgument, key: KeyArgument, project: ProjectOption = None) -> None:
    """Enable a disabled key."""
    _key_update(session, project, account, key, False)


def _key_update(session: Session, project: str | None, account: str, key: str, disabled: bool) -> None:
    where, found = _find(session, project, account)
    changed = session.client.service_accounts.update_key(where, found, key, disabled)
    print_card(session, changed, [("Key", changed.id), ("Status", "disabled" if changed.disabled else "active")])


@keys.verb("delete")
def key_delete(
    session: Session,
    account: AccountArgument,
    key: KeyArgument,
    project: ProjectOption = None,
    yes: YesOption = False,
) -> None:
    """Delete a key. It is then refused."""
    session.confirm(f"Delete the key {key} of {account}?", yes)
    where, found = _find(session, project, account)
    session.client.service_accounts.delete_key(where, found, key)
    session.say(f"{key} is deleted.")


def _find(session: Session, project: str | None, account: str) -> tuple[str, str]:
    where = project_id(session, project)
    return where, service_account_id(session.client, where, account)


def _print(session: Session, account: ServiceAccount) -> None:
    key = account.key if isinstance(account, NewServiceAccount) else None
    fields = [
        ("Name", account.name),
        ("Id", account.id),
        ("Scopes", account.scopes),
        ("Apps", account.app_slugs),
        ("Status", "disabled" if account.disabled else "active"),
        ("Certificate", "required" if account.certificate_required else "optional"),
        ("Project", account.project_id),
        ("Expires", account.expires_at),
        ("Created", account.created_at),
        ("Key", key.id if key else None),
        ("Secret", key.secret if key else None),
    ]
    print_card(session, account, fields)
    if key:
        session.say(f"The secret is shown only once. Sign in with: gpuaas login --service-account {account.id}")
