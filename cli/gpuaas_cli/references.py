"""Finds the id of a thing by its name, slug or other reference, through the API."""

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.session import Session
from gpuaas_sdk import (
    AccessCredential,
    Allocation,
    App,
    AppVersion,
    Client,
    GpuaasError,
    InstanceMember,
    InstanceSummary,
    Member,
    Node,
    Project,
    ServiceAccount,
    Sku,
    SshKey,
    Tenant,
    User,
)

Thing = TypeVar(
    "Thing",
    AccessCredential,
    Project,
    Member,
    Tenant,
    User,
    Node,
    Sku,
    Allocation,
    ServiceAccount,
    SshKey,
    App,
    AppVersion,
    InstanceSummary,
    InstanceMember,
)


def is_id(prefix: str, text: str) -> bool:
    return re.fullmatch(rf"{prefix}_[0-9a-z]{{26}}", text) is not None


def only_one(noun: str, text: str, things: Iterable[Thing], names: Callable[[Thing], Iterable[str | None]]) -> Thing:
    """Return the only thing of that name; none and several are different errors."""
    found = [thing for thing in things if text in names(thing)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise CommandFailed(
            "not_found", f"There is no {noun} {text} that you can see.", "Check the name.", ExitCode.NOT_FOUND
        )
    ids = ", ".join(thing.id for thing in found[:5])
    raise CommandFailed("ambiguous", f"{len(found)} {noun}s are called {text}.", f"Use an id: {ids}.", ExitCode.USAGE)


def project_id(session: Session, given: str | None) -> str:
    """Find a project by id, slug or tenant/slug; default: the configured project, or the only one."""
    wanted = given or session.project_wanted
    if wanted is not None and is_id("prj", wanted):
        return wanted
    client = session.client
    if wanted is None:
        return _only_project(client)
    tenant, _, slug = wanted.rpartition("/")
    return only_one("project", slug, _visible_projects(client, tenant), lambda one: (one.slug,)).id


def _visible_projects(client: Client, tenant: str) -> Iterable[Project]:
    """List the projects that the caller can name. Administrators and platform users see all projects of a tenant;
    other users see those in which they have a role.
    """
    scope = tenant_id(client, tenant) if tenant else None
    of_the_platform = scope is not None and client.me.show().tenant_id is None
    return client.projects.list(scope if of_the_platform else None)


def _only_project(client: Client) -> str:
    own = {role.project_id for role in client.me.show().roles if role.role == "service_account"}
    if own:  # a service account belongs to one project and may not be allowed to list projects
        return str(own.pop())
    visible = client.projects.list().first(2)
    if len(visible) == 1:
        return visible[0].id
    raise CommandFailed(
        "project_required",
        "The project is ambiguous." if visible else "You are in no project.",
        "Name it with --project, or set a default: gpuaas config set project SLUG.",
        ExitCode.USAGE,
    )


def tenant_id(client: Client, text: str) -> str:
    if is_id("tnt", text):
        return text
    return only_one("tenant", text, client.tenants.list(), lambda one: (one.slug,)).id


def home_tenant_id(client: Client, given: str | None) -> str | None:
    """Return the named tenant, else the caller's own; None for a platform user."""
    return tenant_id(client, given) if given else client.me.show().tenant_id


def user_id(client: Client, tenant: str | None, text: str) -> str:
    if is_id("usr", text):
        return text
    wanted = text.lower()
    return only_one("user", wanted, client.users.list(tenant), lambda one: (one.email,)).id


def principal_id(client: Client, project: str, text: str) -> str:
    """Find a member of the project by e-mail, or any principal by id."""
    if is_id("usr", text) or is_id("sva", text):
        return text
    return only_one("member", text.lower(), client.projects.members(project), lambda one: (one.email,)).id


def service_account_id(client: Client, project: str, text: str) -> str:
    if is_id("sva", text):
        return text
    accounts = client.service_accounts.list(project)
    return only_one("service account", text, accounts, lambda one: (one.name,)).id


def node_id(client: Client, text: str) -> str:
    if is_id("nod", text):
        return text
    living = (node for node in client.nodes.list() if node.status != "retired")
    return only_one("node", text, living, lambda one: (one.name, one.hostname)).id


def slot_id(client: Client, text: str) -> str:
    """Find a slot by id or NODE/INDEX."""
    if is_id("slt", text):
        return text
    node, _, index = text.rpartition("/")
    if not (node and index.isdigit()):
        raise CommandFailed("usage", f"{text} names no slot.", "Give a slot id, or NODE/INDEX.", ExitCode.USAGE)
    for slot in client.slots.list(node_id(client, node)):
        if slot.slot_index == int(index):
            return slot.id
    raise CommandFailed(
        "not_found", f"Node {node} has no slot {index}.", "List them: gpuaas slots list.", ExitCode.NOT_FOUND
    )


def sku_id(client: Client, text: str) -> str:
    if is_id("sku", text):
        return text
    return only_one("SKU", text, client.skus.list(), lambda one: (one.name,)).id


def allocation_id(client: Client, project: str, text: str) -> str:
    """Find an allocation by id or name. A name can be reused after a release, so live allocations come first."""
    if is_id("alc", text):
        return text
    named = [one for one in client.allocations.list(project) if one.name == text]
    living = [one for one in named if one.ended_at is None]
    # A replaced allocation may wait long for its host; its name now belongs to its successor.
    in_use = [one for one in living if one.state in ("requested", "provisioning", "active")]
    return only_one("allocation", text, in_use or living or named[:1], lambda one: (one.name,)).id


def allocation_names(client: Client, project: str) -> dict[str, str]:
    """Return the names of allocations by id; empty if the caller may not see allocations."""
    try:
        return {one.id: one.name for one in client.allocations.list(project) if one.name}
    except GpuaasError as error:
        if error.code != "forbidden":
            raise
        return {}


def credential_id(client: Client, project: str, text: str) -> str:
    """Find a credential by id or name; only one live credential can have a name."""
    if is_id("crd", text):
        return text
    living = (one for one in client.access_credentials.list(project) if one.revoked_at is None)
    return only_one("credential", text, living, lambda one: (one.name,)).id


def ssh_key_id(client: Client, text: str) -> str:
    if is_id("ssk", text):
        return text
    return only_one("SSH key", text, client.ssh_keys.list(), lambda one: (one.name, one.fingerprint)).id


def app_id(client: Client, project_id: str | None, text: str) -> str:
    """Find an app by id or slug, in the project or, without one, on the platform."""
    if is_id("app", text):
        return text
    return only_one("app", text, client.apps.list(project_id), lambda one: (one.slug,)).id


def app_version(client: Client, project_id: str, app_id: str, text: str) -> AppVersion:
    """Find a version by id or by its number, such as 1.2.0."""
    listed = client.app_versions.list(project_id, app_id)
    return only_one("version", text, listed, lambda one: (one.id, one.version))


def instance_id(client: Client, project: str, text: str) -> str:
    """Find an instance by id or name. A name can be reused after a decommission, so live instances come first."""
    if is_id("ins", text):
        return text
    named = [one for one in client.instances.list(project) if one.name == text]
    living = [one for one in named if one.decommissioned_at is None]
    return only_one("instance", text, living or named[:1], lambda one: (one.name,)).id


def instance_member_id(client: Client, project: str, instance: str, text: str) -> str:
    """Find a member by id or COMPONENT/NUMBER; a removed member has only its id."""
    if is_id("mem", text):
        return text
    members = client.instances.members(project, instance)
    return only_one("member", text, members, lambda one: (one.name,)).id
