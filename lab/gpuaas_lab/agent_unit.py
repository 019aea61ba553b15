"""Installs the node agent on a host: its settings, its one-time bundle and a systemd unit.

The agent's source is mounted read-only; no package is installed.
"""

import json
from collections.abc import Mapping

from gpuaas_lab.container import AGENT_PATH, SLICE_BASE, SLICE_DIR
from gpuaas_lab.image import HARDWARE_ROOT
from gpuaas_lab.layout import HostLayout

UNIT_NAME = "gpuaas-agent.service"
UNIT_PATH = f"/etc/systemd/system/{UNIT_NAME}"
SETTINGS_PATH = "/etc/gpuaas/agent.json"
BUNDLE_PATH = "/etc/gpuaas/enrolment"

# A restart ends the commands that the agent was running; slices are separate units and continue.
UNIT = f"""[Unit]
Description=gpuaas node agent
After=network.target ssh.service
StartLimitIntervalSec=0

[Service]
ExecStart=/usr/bin/python3 -m gpuaas_agent run
Environment=PYTHONPATH={AGENT_PATH}
Environment=PYTHONDONTWRITEBYTECODE=1
Restart=always
RestartSec=0.3
TimeoutStopSec=5
Delegate=yes

[Install]
WantedBy=multi-user.target
"""


def settings(host: HostLayout, extra: Mapping[str, object]) -> str:
    values: dict[str, object] = {
        "address": host.address,
        "hostname": host.name,
        "hw_root": HARDWARE_ROOT,
        "state_dir": "/var/lib/gpuaas/agent",
        "bare_metal_driver": "host",
        "golden_root": SLICE_BASE,
        "slice_driver": "lab_container",
        "slice_addresses": [f"{address}/24" for address in host.slice_addresses],
        "slice_gateway": host.fleet.gateway,
        "slice_base": SLICE_BASE,
        "slice_dir": SLICE_DIR,
        **extra,
    }
    return json.dumps(values, indent=2) + "\n"
