"""Collects what a host claims about itself in heartbeats: its configuration, and the digest of its agent's program.

The platform records claims only while the host has no tenant and is proven clean; a wipe restores what is recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gpuaas_agent import log, program, wire
from gpuaas_agent.expectations import LONGEST_CONFIGURATION

NOT_UNDERSTOOD = (400, 422)  # an older platform refuses fields that it does not know

Answer = dict[str, object]


class HostClaims:
    def __init__(self, configuration: Path) -> None:
        self._configuration = configuration
        self._wanted = True

    def send(self, call: Callable[[dict[str, object]], Answer], body: dict[str, object]) -> Answer:
        """Send a heartbeat with the claims, or without them if the platform does not accept them."""
        if not self._wanted:
            return call(body)
        try:
            return call({**body, **self._read()})
        except wire.Refused as refusal:
            if refusal.status not in NOT_UNDERSTOOD:
                raise
            answer = call(body)
            self._wanted = False
            log.warning("claims_not_supported", code=refusal.code)
            return answer

    def _read(self) -> dict[str, object]:
        try:
            text: str | None = self._configuration.read_bytes()[: LONGEST_CONFIGURATION + 1].decode()
        except (OSError, UnicodeDecodeError):
            text = None
        if text is not None and len(text.encode()) > LONGEST_CONFIGURATION:
            text = None
        return {"configuration": text, "agent_sha256": program.program_sha256()}
