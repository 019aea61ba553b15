"""For the policy matrix: an instance in each place whose deploy nobody has claimed."""

from gpuaas_sdk import Client
from system_support.little_app import LittleApp


def furnish_instances(admin: Client, project_id: str, allocation_id: str) -> dict[str, str]:
    app = LittleApp.publish(admin, project_id)
    instance_id, operation_id = app.launch(allocation_id)
    [member] = admin.instances.members(project_id, instance_id)
    return {
        "instance_app": app.slug,
        "instance_id": instance_id,
        "secret_name": "no-such-secret",
        "operation_id": operation_id,
        "member_id": member.id,
    }
