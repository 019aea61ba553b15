"""A host that does not exist: it notes what a handler installs, and the footprint is derived from that."""

import json
from collections.abc import Sequence

from gpuaas_sdk.controller.artifact import PublishedArtifact
from gpuaas_sdk.controller.host_installer import HostInstaller


class _UnpublishedArtifact(PublishedArtifact):
    """An artifact that no host downloads."""

    def __init__(self) -> None: ...

    async def pull_document(self) -> dict[str, object]:
        return {}


class RecordedHost(HostInstaller):
    """Give it to the functions that install your app: `installed.footprint()` is then the footprint for the manifest, and
    `installed.missing_in(manifest)` lists what one written by hand lacks.

    It runs nothing: calls that install report a change, and `requests` has them in order. `artifact` stands for `ctx.artifact`.
    """

    def __init__(self, address: str = "10.0.0.1", instance_id: str = "ins_test") -> None:
        super().__init__(address, {"GPUAAS_INSTANCE": instance_id})
        self.requests: list[dict[str, object]] = []
        self.artifact: PublishedArtifact = _UnpublishedArtifact()

    async def request(self, argv: Sequence[str], line: str, *, timeout: float) -> str:
        """Note the request and say that it changed something."""
        self.requests.append(json.loads(line))
        return json.dumps({"done": {"changed": True, "removed": []}})
