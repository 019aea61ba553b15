"""Why something is not offered in the CLI, in the console, or in both. Short, and each line is an answer to "why not?"."""

from collections.abc import Iterator
from dataclasses import dataclass

CLI, CONSOLE = "CLI", "console"


@dataclass(frozen=True, slots=True)
class Absence:
    operations: tuple[str, ...]
    missing: tuple[str, ...]
    because: str


ABSENCES = (
    Absence(
        (
            "agent_ca",
            "agent_enrol",
            "agent_heartbeat",
            "agent_host_certificate",
            "agent_inventory",
            "agent_key_rotate",
            "agent_log_report",
            "agent_probe_report",
            "agent_task_poll",
            "agent_task_progress",
            "agent_task_result",
            "artifact_pull",
        ),
        (CLI, CONSOLE),
        "For hosts: a node signs with its own key, or pulls by a runtime secret, which no person has.",
    ),
    Absence(
        (
            "controller_heartbeat",
            "controller_instance_list",
            "controller_work",
            "operation_claim",
            "operation_report",
            "operation_complete",
            "operation_fail",
            "operation_give_back",
            "operation_machine_access",
            "runtime_secret_create",
            "operation_secret_read",
            "instance_health_report",
            "app_usage_report",
            "app_usage_access",
        ),
        (CLI, CONSOLE),
        "For an app's controller, which holds a lease; the SDK's controller framework calls them.",
    ),
    Absence(
        ("health", "ready", "metrics", "auth_jwks", "provided_app_report"),
        (CLI, CONSOLE),
        "For monitoring, load balancers, whoever checks our tokens, and the process that provides the platform's apps.",
    ),
    Absence(
        ("auth_session_create", "auth_session_show", "auth_session_end"),
        (CLI,),
        "A browser's session; the CLI holds a token and a refresh token.",
    ),
    Absence(
        ("auth_token", "auth_logout", "me_show"),
        (CONSOLE,),
        "The console has a session in a cookie, which says who is signed in, and no token.",
    ),
    Absence(
        (
            "access_credential_show",
            "controller_consent_list",
            "member_show",
            "publish_intent_show",
            "service_account_show",
            "tenant_user_show",
            "user_show",
        ),
        (CONSOLE,),
        "Another list has the same fields, and the console shows them from there.",
    ),
    Absence(("app_show",), (CLI,), "`apps list --published` has the same fields, `apps show` more of the catalog's."),
    Absence(
        ("publish_intent_parts", "publish_intent_upload_part"),
        (CONSOLE,),
        "A browser sends a file of up to 2 GiB as a whole; the form says that the command sends larger ones, in parts.",
    ),
    Absence(
        ("ssh_ca_show",),
        (CLI, CONSOLE),
        "Comes with each certificate and each access bundle, where people need it.",
    ),
    Absence(
        (
            "controller_binding_create",
            "controller_binding_list",
            "controller_binding_delete",
            "controller_replica_list",
            "controller_kind_binding_create",
            "controller_kind_binding_list",
            "controller_kind_binding_delete",
        ),
        (CONSOLE,),
        "For publishers, who publish and run their controllers with the CLI; users see in the catalog who serves an app.",
    ),
    Absence(("registry_token",), (CONSOLE,), "For whoever pushes an image to the registry: the CLI, podman, docker."),
)


def reasons() -> Iterator[tuple[str, str, str]]:
    """(operation, where it is missing, why)."""
    for absence in ABSENCES:
        for name in absence.operations:
            for place in absence.missing:
                yield name, place, absence.because
