"""Names of the wake-ups about operations: one for an instance's readers, one for a project's controllers."""


def instance_topic(instance_id: str) -> str:
    """Whoever follows an operation, or an instance's timeline, waits for this."""
    return f"instance:{instance_id}"


def controller_topic(project_id: str) -> str:
    """Controllers that have no work wait for this."""
    return f"controller:{project_id}"
