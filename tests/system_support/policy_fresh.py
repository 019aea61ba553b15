"""What an admitted call may use up, made anew for it."""

import secrets

from gpuaas_sdk import Client, NewSshGrant
from system_support import policy_cast as shared
from system_support.policy_bodies import slug
from system_support.policy_cast import Caller, Cast, Ids, public_key, tomorrow
from system_support.policy_catalog import draft as new_draft


def role(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    email, password = f"{secrets.token_hex(6)}@example.test", secrets.token_urlsafe(18)
    user = cast.admin.users.create(None, email, "Other", password=password)
    cast.admin.users.set_platform_role(user.id, "platform_operator")
    return {"user_id": user.id}


def tenant_user(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    return {"user_id": cast.admin.users.create(ids["tenant_id"], f"{secrets.token_hex(6)}@example.test", "Other").id}


def tenant_admin(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    cast.admin.tenants.set_member(ids["tenant_id"], ids["user_id"], "tenant_admin")
    return {}


def member(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    cast.admin.projects.set_member(ids["project_id"], ids["user_id"], "project_viewer")
    return {}


def key(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    return {"key_id": cast.admin.service_accounts.create_key(ids["project_id"], ids["service_account_id"]).id}


def account(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    """One account holds only so many keys."""
    account = cast.admin.service_accounts.create(ids["project_id"], slug(), ["projects:read"])
    return {"service_account_id": account.id}


def account_key(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    account = cast.admin.service_accounts.create(ids["project_id"], slug(), ["projects:read"])
    return {"service_account_id": account.id, "key_id": account.key.id}


def token(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    return {"token_id": cast.admin.enrolment_tokens.create(note="to be revoked").id}


def grant(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    place = (ids["project_id"], ids["allocation_id"])
    grant = cast.admin.ssh_access.create_grant(*place, NewSshGrant(expires_at=tomorrow(), public_key=public_key()))
    return {"grant_id": grant.id}


def ssh_key(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    """SSH keys are the caller's own."""
    own = Client(cast.admin.base_url, token=caller.token)
    return {"ssh_key_id": own.ssh_keys.create("to be deleted", public_key()).id}


def credential(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    return {"credential_id": cast.admin.access_credentials.create(ids["project_id"], slug(), kind="ssh_key").id}


def spare_signing_key(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    """One that signed nothing: the tokens of the cast must live on."""
    spare = cast.admin.signing_keys.rotate()
    cast.admin.signing_keys.rotate()
    return {"signing_key_id": spare.id}


def newest_platform_key(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    return {"platform_key_id": cast.admin.platform_keys.rotate("ssh_host_ca", "to be refused").id}


def open_node(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    if cast.admin.nodes.show(ids["node_id"]).cordoned:
        cast.admin.nodes.uncordon(ids["node_id"])
    return {}


def closed_node(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    if not cast.admin.nodes.show(ids["node_id"]).cordoned:
        cast.admin.nodes.cordon(ids["node_id"], "to be opened")
    return {}


def disabled_slot(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    cast.admin.slots.disable(ids["slot_id"], "to be enabled")
    return {}


def intent(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    return {"publish_intent_id": cast.admin.publish_intents.create(ids["project_id"], "blob", "fresh").id}


def artifact(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    return {"artifact_id": shared.published_artifact(cast.admin, ids["project_id"])}


def trust_key(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    return {"trust_key_id": cast.admin.trust.create_key(ids["tenant_id"], "to be revoked", shared.trust_key()).id}


def draft(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    version = new_draft(cast.admin, ids["project_id"], ids["app_digest"])
    return {"app_id": version.app_id, "version_id": version.id}


def entitlement(cast: Cast, caller: Caller, ids: Ids) -> Ids:
    return {"entitlement_id": cast.admin.entitlements.grant(ids["tenant_id"], ids["slug"]).id}
