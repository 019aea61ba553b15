"""Applies a cloud-init document to a host that runs: exactly the keys that `user_data.py` writes, in cloud-init's order.

cloud-init itself runs a document once for each boot of a new machine, keeps a copy of it, and may not be installed.
"""

import json
import os

from host_commands import ENGINE, Failed, run, run_or_fail, write_file
from host_units import restarts_of, show

HEADER = "#cloud-config\n"
KEYS = {"write_files", "runcmd"}


def apply(request):
    """{"document", "name", "unit", "fingerprint", "label", "restart"}: a container that runs as it should is left alone.

    Returns how often systemd has restarted it so far: those restarts say nothing of the document.
    """
    if not request["document"].startswith(HEADER):
        raise Failed("document_refused", "the document is not a cloud-config")
    document = json.loads(request["document"][len(HEADER) :])
    if set(document) - KEYS:
        raise Failed("document_refused", f"the document has keys beside {sorted(KEYS)}")
    for file in document["write_files"]:
        if file["owner"] != "root:root":
            raise Failed("document_refused", "a file does not belong to root")
        os.makedirs(os.path.dirname(file["path"]), mode=0o755, exist_ok=True)
        write_file(file["path"], file["content"].encode(), int(file["permissions"], 8))
    if not request["restart"]:
        state = show(request["unit"])
        if state["ActiveState"] == "active" and started_with(request) == request["fingerprint"]:
            return {"started": False, "restarts": restarts_of(state)}
    run(["systemctl", "reset-failed", request["unit"]])
    for command in document["runcmd"]:
        run_or_fail(command, "container_start_failed")
    return {"started": True, "restarts": 0}  # systemd counts from the start


def started_with(request):
    """Returns the fingerprint of the document that the running container was started with."""
    shown = run([ENGINE, "container", "inspect", request["name"]])
    found = json.loads(shown.stdout) if shown.returncode == 0 else []
    labels = found[0]["Config"].get("Labels") if found else None
    return (labels or {}).get(request["label"])
