"""Lists what a tenant's consent lets the controller of an app do: its permissions, and the actions that each of them opens.

A consent names permissions, so that a new power of controllers is nobody's until the tenant agrees to it. An action that
is not listed here is for controllers of the project itself only.
"""

from collections.abc import Mapping
from typing import Literal, get_args

PermissionName = Literal[
    "operations", "machine_access", "artifact_pull", "app_secrets", "health", "usage", "usage_counters"
]
PERMISSIONS: tuple[PermissionName, ...] = get_args(PermissionName)

DESCRIPTIONS: Mapping[PermissionName, str] = {
    "operations": "Read instances of this app with their members and operations; claim, carry out and report operations.",
    "machine_access": "Log in by SSH to the machines of an operation, while it holds its lease, for an hour at most.",
    "artifact_pull": "Pull the artifact of the instance's version for these machines, with a secret that ends with it.",
    "app_secrets": "Read the secrets that the app's instances have, in an operation, while it holds its lease.",
    "health": "Report how healthy instances of this app are, also between operations.",
    "usage": "Report the usage of instances of this app.",
    "usage_counters": "Between operations, read by SSH what machines of this app's instances have counted, and nothing else.",
}

# Of actions that a controller may do at all. Only these reach into another project.
PERMISSION_OF_ACTION: Mapping[str, PermissionName] = {
    **dict.fromkeys(
        (
            "instance_list",
            "instance_show",
            "instance_timeline",
            "instance_secret_list",
            "served_project_list",
            "member_list",
            "member_show",
            "operation_list",
            "operation_show",
            "receipt_list",
            "receipt_show",
            "operation_claim",
            "operation_report",
            "operation_complete",
            "operation_fail",
            "operation_give_back",
        ),
        "operations",
    ),
    "operation_machine_access": "machine_access",
    "runtime_secret_create": "artifact_pull",
    "operation_secret_read": "app_secrets",
    "instance_health_report": "health",
    "app_usage_report": "usage",
    "app_usage_access": "usage_counters",
}
# Of its own project: what concerns the controller itself, and not somebody's instances.
OWN_PROJECT_ONLY = frozenset({"controller_work", "controller_heartbeat", "controller_instance_list"})
