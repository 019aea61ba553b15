"""What an admitted call may use up, made anew for it."""

import secrets

from gpuaas_sdk import Client, NewServiceAccount, NewSshGrant
from system_support import policy_callers as shared
from system_support.policy_bodies import slug
from system_support.policy_callers import Caller, Ids, PolicyFixture, public_key, tomorrow
from system_support.policy_catalog import draft as new_draft


def role(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    email, password = f"{secrets.token_hex(6)}@example.test", secrets.token_urlsafe(18)
    user = fixture.admin.users.create(None, email, "Other", password=password)
    fixture.admin.users.set_platform_role(user.id, "platform_operator")
    return {"user_id": user.id}


def tenant_user(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    return {"user_id": fixture.admin.users.create(ids["tenant_id"], f"{secrets.token_hex(6)}@example.test", "Other").id}


def tenant_admin(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    fixture.admin.tenants.set_member(ids["tenant_id"], ids["user_id"], "tenant_admin")
    return {}


def member(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    fixture.admin.projects.set_member(ids["project_id"], ids["user_id"], "project_viewer")
    return {}


def key(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    account = _controller(fixture, ids)
    return {"service_account_id": account.id, "key_id": account.key.id}


def _controller(fixture: PolicyFixture, ids: Ids) -> NewServiceAccount:
    return fixture.admin.service_accounts.create(ids["project_id"], slug(), ["apps:control"], app_slugs=[ids["slug"]])


def account(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    """One account holds only so many keys. It is a controller and nothing else, for who may make keys of no other."""
    account = _controller(fixture, ids)
    return {"service_account_id": account.id}


def account_key(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    account = _controller(fixture, ids)
    return {"service_account_id": account.id, "key_id": account.key.id}


def certificate(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    account = fixture.admin.service_accounts.create(ids["project_id"], slug(), ["projects:read"])
    request = shared.certificate_request()
    made = fixture.admin.service_accounts.create_certificate(ids["project_id"], account.id, request)
    return {"service_account_id": account.id, "certificate_id": made.id}


def token(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    return {"token_id": fixture.admin.enrolment_tokens.create(note="to be revoked").id}


def grant(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    place = (ids["project_id"], ids["allocation_id"])
    grant = fixture.admin.ssh_access.create_grant(*place, NewSshGrant(expires_at=tomorrow(), public_key=public_key()))
    return {"grant_id": grant.id}


def ssh_key(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    """SSH keys are the caller's own."""
    own = Client(fixture.admin.base_url, token=caller.token)
    return {"ssh_key_id": own.ssh_keys.create("to be deleted", public_key()).id}


def credential(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    return {"credential_id": fixture.admin.access_credentials.create(ids["project_id"], slug(), kind="ssh_key").id}


def spare_signing_key(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    """One that signed nothing: the tokens of the fixture must live on."""
    spare = fixture.admin.signing_keys.rotate()
    fixture.admin.signing_keys.rotate()
    return {"signing_key_id": spare.id}


def newest_platform_key(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    return {"platform_key_id": fixture.admin.platform_keys.rotate("ssh_host_ca", "to be refused").id}


def open_node(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    if fixture.admin.nodes.show(ids["node_id"]).cordoned:
        fixture.admin.nodes.uncordon(ids["node_id"])
    return {}


def closed_node(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    if not fixture.admin.nodes.show(ids["node_id"]).cordoned:
        fixture.admin.nodes.cordon(ids["node_id"], "to be opened")
    return {}


def disabled_slot(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    fixture.admin.slots.disable(ids["slot_id"], "to be enabled")
    return {}


def intent(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    return {"publish_intent_id": fixture.admin.publish_intents.create(ids["project_id"], "blob", "fresh").id}


def artifact(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    return {"artifact_id": shared.published_artifact(fixture.admin, ids["project_id"])}


def trust_key(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    return {"trust_key_id": fixture.admin.trust.create_key(ids["tenant_id"], "to be revoked", shared.trust_key()).id}


def draft(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    version = new_draft(fixture.admin, ids["project_id"], ids["app_digest"])
    return {"app_id": version.app_id, "version_id": version.id}


def draft_on_trial(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    """A smoke launch of a draft that is not on trial needs the permission to put it there too."""
    made = draft(fixture, caller, ids)
    fixture.admin.app_versions.trial(ids["project_id"], made["app_id"], made["version_id"])
    return made


def entitlement(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    return {"entitlement_id": fixture.admin.entitlements.grant(ids["tenant_id"], ids["slug"]).id}


def controller_binding(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    accounts = fixture.admin.service_accounts
    account = accounts.create(ids["project_id"], slug(), ["apps:control"], app_slugs=[ids["slug"]])
    made = fixture.admin.controller_bindings.create(ids["project_id"], ids["slug"], account.id)
    return {"controller_binding_id": made.id}


def controller_consent(fixture: PolicyFixture, caller: Caller, ids: Ids) -> Ids:
    return {"controller_consent_id": fixture.admin.controller_consents.give(ids["tenant_id"], ids["slug"]).id}
