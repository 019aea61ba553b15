"""For the policy matrix: a receipt in each place, of an app that came and went."""

from gpuaas_sdk import Client
from system_support.little_app import LittleApp


def furnish_receipts(admin: Client, project_id: str, allocation_id: str) -> dict[str, str]:
    app = LittleApp.publish(admin, project_id)
    instance_id, deploy = app.launch(allocation_id)
    app.say_done(deploy)
    gone = app.ask(instance_id, "decommission")
    app.say_done(gone)
    app.ended(gone)
    [receipt] = admin.receipts.list(project_id, operation_id=gone)
    return {"receipt_id": receipt.id}
