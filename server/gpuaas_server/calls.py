"""Names operations for clients: `x-call` in the contract, "group.method", so that every generated client has the same names.

The rule reads an operation's name, `noun_verb`: `sku_list` is `skus.list`, and with a part of the noun between them
`tenant_member_set` is `tenants.set_member`. Two operations of one name are one call, with or without the scope in the path.
"""

from collections.abc import Set

# Nouns whose calls are in the group of another noun; after the dot, their name within that noun.
HOMES = {
    "credential_delivery": "access_credentials.delivery",
    "member": "instances.member",
    "platform_event": "events",
    "platform_role": "users.platform_role",
    "project_audit": "audit",
    "project_event": "events",
    "project_quota": "quotas.project",
    "served_project": "instances.served_project",
    "ssh_certificate": "ssh_access.certificate",
    "ssh_grant": "ssh_access.grant",
    "task": "nodes.task",
    "tenant_audit": "audit",
    "tenant_entitlement": "entitlements",
    "tenant_project": "projects",
    "tenant_quota": "quotas.tenant",
    "tenant_user": "users",
    "trust_key": "trust.key",
    "trust_policy": "trust.policy",
}
# Verbs that would say too little, or collide.
NAMED = {
    "allocation_list_all": "allocations.list",
    "app_list_all": "apps.list",
    "artifact_garbage_collect": "artifacts.collect_garbage",
    "artifact_garbage_list": "artifacts.garbage",
    "app_usage_access": "controller.usage_access",
    "app_usage_report": "controller.report_usage",
    "controller_heartbeat": "controller.heartbeat",
    "controller_instance_list": "controller.instances",
    "controller_work": "controller.poll",
    "instance_health_report": "controller.report_health",
    "member_operation_create": "instances.change_members",
    "operation_list_all": "operations.list",
    "operation_machine_access": "ssh_access.for_operation",
    "platform_event_list": "events.page",
    "project_event_list": "events.page",
    "publish_intent_upload": "publish_intents.upload_content",
    "publish_intent_upload_part": "publish_intents.upload_part",
    "receipt_list_all": "receipts.list",
    "retention_show": "audit.retention",
    "registry_token": "artifacts.registry_token",
    "runtime_secret_create": "artifacts.pull_secret",
    "operation_secret_read": "operations.read_secrets",
    "instance_secret_rotate": "instances.rotate_secret",
    "service_account_key_update": "service_accounts.update_key",
    "slot_map": "slots.map",
    "ssh_ca_show": "ssh_access.authorities",
}
# An operation is asked for by people and worked on by controllers, who hold different permissions.
CONTROLLER_VERBS = frozenset({"claim", "report", "complete", "fail", "give_back"})
UNCOUNTED = frozenset({"app_usage", "audit", "catalog", "controller", "evidence", "me"})


def call_of(action: str, collections: Set[str]) -> str:
    """Name the call. `collections` are the path segments of the API, which say how much of a name is the noun."""
    if action in NAMED:
        return NAMED[action]
    noun, verb = _split(action, collections)
    if noun == "operation" and verb in CONTROLLER_VERBS:
        return f"controller.{verb}"
    group, _, part = HOMES.get(noun, plural(noun)).partition(".")
    return f"{group}.{_method(f'{part}_{verb}' if part else verb)}"


def plural(noun: str) -> str:
    if noun in UNCOUNTED:
        return noun
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"


def _split(action: str, collections: Set[str]) -> tuple[str, str]:
    words = action.split("_")
    for length in range(len(words) - 1, 0, -1):
        noun = "_".join(words[:length])
        if noun in HOMES or plural(noun).replace("_", "-") in collections:
            return noun, "_".join(words[length:])
    return "_".join(words[:-1]), words[-1]


def _method(rest: str) -> str:
    """Name the method: `member_list` is `members`, `member_show` is `member`, `member_set` is `set_member`."""
    part, _, verb = rest.rpartition("_")
    if not part or verb not in PART_VERBS:
        return rest
    if verb in ("list", "show"):
        return plural(part) if verb == "list" else part
    return f"{verb}_{part}"


PART_VERBS = frozenset({"list", "show", "add", "change", "create", "delete", "remove", "revoke", "set"})
