"""A host that exists only in a test: it notes what a handler installs, so that a manifest can be compared with it."""

import json
from collections.abc import Sequence

from gpuaas_sdk.controller.host_installer import HostInstaller


class RecordedHost(HostInstaller):
    """Give it to the function that installs your app; `installed.missing_in(manifest)` then lists what its footprint lacks.

    It runs nothing: calls that install report a change, and `requests` has them in order.
    """

    def __init__(self, address: str = "10.0.0.1", instance_id: str = "ins_test") -> None:
        super().__init__(address, {"GPUAAS_INSTANCE": instance_id})
        self.requests: list[dict[str, object]] = []

    async def request(self, argv: Sequence[str], line: str, *, timeout: float) -> str:
        """Note the request and say that it changed something."""
        self.requests.append(json.loads(line))
        return json.dumps({"done": {"changed": True, "removed": []}})
