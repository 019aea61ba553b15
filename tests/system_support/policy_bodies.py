"""Bodies of requests that only the policy can refuse: valid, and about what the caller finds in its place."""

import secrets

from gpuaas_sdk import RecipientKey
from system_support.policy_callers import Caller, Ids, public_key, tomorrow
from system_support.policy_catalog import manifest


def slug() -> str:
    return f"m-{secrets.token_hex(6)}"


def sign_in(caller: Caller, ids: Ids) -> object:
    account = {"client_id": ids["service_account_id"], "client_secret": ids["key_secret"]}
    return {"grant_type": "client_credentials", **account}


def browser_sign_in(caller: Caller, ids: Ids) -> object:
    return {"grant_type": "password", "username": ids["user_email"], "password": ids["user_password"]}


def user(caller: Caller, ids: Ids) -> object:
    return {"email": f"{secrets.token_hex(6)}@example.test", "name": "New", "password": secrets.token_urlsafe(18)}


def noun(caller: Caller, ids: Ids) -> object:
    return {"slug": slug(), "name": "New"}


def grant(caller: Caller, ids: Ids) -> object:
    return {"public_key": public_key(), "expires_at": tomorrow().isoformat()}


def sku(caller: Caller, ids: Ids) -> object:
    price = {"price_per_gpu_hour_minor": 1, "currency": "USD"}
    return {"name": slug(), "shape": "gpu_slice", "gpu_model": "Nobody has it", "gpu_counts": [1], **price}


def usage(caller: Caller, ids: Ids) -> object:
    span = {"started_at": tomorrow().isoformat(), "ended_at": tomorrow().isoformat()}
    what = {"source_key": "matrix/1", "metric": "echoes", "unit": "count", "quantity": 1}
    return {"records": [{"project_id": ids["project_id"], **what, **span}]}


def recipient(caller: Caller, ids: Ids) -> object:
    return {"recipient_key": RecipientKey.new().public}


def machine_access(caller: Caller, ids: Ids) -> object:
    return {"lease_token": f"lease_{secrets.token_urlsafe(32)}", **certified_key(caller, ids)}


def certified_key(caller: Caller, ids: Ids) -> dict[str, object]:
    return {"public_key": public_key(), "source_addresses": ["192.0.2.1"]}


def evidence(caller: Caller, ids: Ids) -> object:
    return {"kind": "lint", "passed": True, "tool": "none", "summary": "asked by the matrix"}


def app_version(caller: Caller, ids: Ids) -> object:
    return {"manifest": manifest(slug(), ids["app_digest"])}


def instance(caller: Caller, ids: Ids) -> object:
    """On an allocation that serves another one already: nothing is used up."""
    place = {"component_key": "server", "allocation_id": ids["allocation_id"]}
    queued = {"when_no_controller": "queue"}
    return {"app": ids["instance_app"], "name": slug(), "placement_intent": [place], **queued}


def smoke_launch(caller: Caller, ids: Ids) -> object:
    """On an allocation that serves another one already: nothing is used up."""
    return {"placement_intent": [{"component_key": "server", "allocation_id": ids["allocation_id"]}]}


def controller_binding(caller: Caller, ids: Ids) -> object:
    return {"app": ids["slug"], "service_account_id": ids["service_account_id"]}


def controller_account(caller: Caller, ids: Ids) -> object:
    """A controller and nothing else: who provides apps may create no other account."""
    return {"name": slug(), "scopes": ["apps:control"], "app_slugs": [ids["slug"]]}


def kind_binding(caller: Caller, ids: Ids) -> object:
    return {"artifact_kind": "launchable", "service_account_id": ids["service_account_id"]}


def drain(caller: Caller, ids: Ids) -> object:
    return {"kind": "drain", "targets": [ids["member_id"]]}
