"""trust: whether a tenant's launches need a signature, and which keys are trusted."""

from pathlib import Path
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.options import ReasonOption, TenantOption, YesOption
from gpuaas_cli.output import Column, age, print_card, print_list
from gpuaas_cli.references import home_tenant_id, is_id
from gpuaas_cli.session import Session
from gpuaas_sdk import TrustKey, TrustPolicy

group = CommandGroup("Trust: whether launches need a signature, and which keys are trusted.")

COLUMNS: list[Column[TrustKey]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("NAME", lambda one: one.name),
    Column("ALGORITHM", lambda one: one.algorithm),
    Column("STATE", lambda one: "revoked" if one.revoked_at else "trusted", whole=True),
    Column("FINGERPRINT", lambda one: one.fingerprint),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
]


@group.verb("policy")
def policy(session: Session, tenant: TenantOption = None) -> None:
    """Show the policy."""
    _print(session, session.client.trust.policy(_tenant(session, tenant)))


@group.verb("require-signatures")
def require_signatures(
    session: Session,
    reason: ReasonOption,
    off: Annotated[bool, typer.Option("--off", help="Allow unsigned artifacts.")] = False,
    tenant: TenantOption = None,
) -> None:
    """Allow launches only of artifacts that one of the tenant's trust keys signed."""
    where = _tenant(session, tenant)
    _print(session, session.client.trust.set_policy(where, require_signature=not off, reason=reason))


@group.verb("require-smoke-launches")
def require_smoke_launches(
    session: Session,
    reason: ReasonOption,
    off: Annotated[bool, typer.Option("--off", help="Accept smoke tests of publishers, too.")] = False,
    tenant: TenantOption = None,
) -> None:
    """Allow artifacts of app versions to be staged only after a smoke launch by the platform."""
    where = _tenant(session, tenant)
    before = session.client.trust.policy(where).require_signature
    changed = session.client.trust.set_policy(
        where, require_signature=before, require_smoke_launch=not off, reason=reason
    )
    _print(session, changed)


@group.verb("keys")
def keys(session: Session, tenant: TenantOption = None) -> None:
    """List the trust keys, newest first."""
    print_list(session, session.client.trust.keys(_tenant(session, tenant)), COLUMNS)


@group.verb("add-key")
def add_key(
    session: Session,
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The public key (cosign.pub).")],
    tenant: TenantOption = None,
) -> None:
    """Add a key whose signatures the tenant trusts."""
    print_list(session, [session.client.trust.create_key(_tenant(session, tenant), name, file.read_text())], COLUMNS)


@group.verb("revoke-key")
def revoke_key(
    session: Session,
    key: Annotated[str, typer.Argument(help="Key: id or name.")],
    reason: ReasonOption,
    tenant: TenantOption = None,
    yes: YesOption = False,
) -> None:
    """Revoke a key. Artifacts that only it signed lose their trust. This cannot be undone."""
    where = _tenant(session, tenant)
    found = key if is_id("tky", key) else _by_name(session, where, key)
    session.confirm(f"Revoke the trust key {key}?", yes)
    print_list(session, [session.client.trust.revoke_key(where, found, reason)], COLUMNS)


def _by_name(session: Session, tenant: str, name: str) -> str:
    for key in session.client.trust.keys(tenant):
        if name in (key.name, key.fingerprint):
            return key.id
    raise CommandFailed(
        "not_found", f"There is no trust key {name}.", "List the keys with `gpuaas trust keys`.", ExitCode.NOT_FOUND
    )


def _tenant(session: Session, given: str | None) -> str:
    tenant = home_tenant_id(session.client, given)
    if tenant is None:
        raise CommandFailed("tenant_needed", "You belong to no tenant.", "Name a tenant with --tenant.", ExitCode.USAGE)
    return tenant


def _print(session: Session, policy: TrustPolicy) -> None:
    fields: list[tuple[str, object]] = [
        ("tenant", policy.tenant_id),
        ("signatures", "required" if policy.require_signature else "not required"),
        ("smoke launches", "required" if policy.require_smoke_launch else "not required"),
        ("since", policy.updated_at),
        ("by", policy.updated_by),
    ]
    print_card(session, policy, fields)
