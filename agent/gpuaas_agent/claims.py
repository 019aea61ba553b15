"""What a host claims about itself in heartbeats: its configuration, and which program its agent is.

The platform takes them as facts only while no tenant is or was on the host; then they are what a wipe puts back.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gpuaas_agent import log, program, wire
from gpuaas_agent.expectations import LONGEST_CONFIGURATION

NOT_UNDERSTOOD = (400, 422)  # a platform of an older release refuses fields that it does not know

Answer = dict[str, object]


class HostClaims:
    def __init__(self, configuration: Path) -> None:
        self._configuration = configuration
        self._wanted = True

    def send(self, call: Callable[[dict[str, object]], Answer], body: dict[str, object]) -> Answer:
        """A heartbeat with the claims; without them where the platform does not understand them."""
        if not self._wanted:
            return call(body)
        try:
            return call({**body, **self._read()})
        except wire.Refused as refusal:
            if refusal.status not in NOT_UNDERSTOOD:
                raise
            answer = call(body)
            self._wanted = False
            log.warning("claims_not_understood", code=refusal.code)
            return answer

    def _read(self) -> dict[str, object]:
        try:
            text: str | None = self._configuration.read_bytes()[: LONGEST_CONFIGURATION + 1].decode()
        except (OSError, UnicodeDecodeError):
            text = None
        if text is not None and len(text.encode()) > LONGEST_CONFIGURATION:
            text = None
        return {"configuration": text, "agent_sha256": program.program_sha256()}
