"""Kills processes of the platform while its operations run."""

import itertools
import time

from gpuaas_sdk import Operation
from gpuaas_sdk.errors import ServerFailed, Unreachable
from system_support.lab_site import LabApp


class Victims:
    """Sees operations to their end, and kills meanwhile: at the first sign of each (`once`), or at each change."""

    def __init__(self, lab: LabApp, victims: list[str], *, once: bool) -> None:
        self._lab, self._victims, self._once = lab, itertools.cycle(victims), once
        self.kills: list[tuple[str, str]] = []

    def see(self, operation: Operation) -> Operation:
        victim = next(self._victims)
        seen: set[object] = set()
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            now = self._look(operation)
            if now is not None and not now.live:
                return now
            signs = _signs(now) if now is not None else set()
            if signs - seen and not (seen and self._once):
                self._lab.kill(victim)
                self.kills.append((now.kind if now else "", victim))
            seen |= signs
            time.sleep(0.02)
        raise AssertionError(f"{operation.kind} did not end: {now}")

    def _look(self, operation: Operation) -> Operation | None:
        try:
            return self._lab.sandbox.admin.operations.show(self._lab.project_id, operation.id)
        except (Unreachable, ServerFailed):
            return None


def _signs(now: Operation) -> set[object]:
    return {(one.name, one.member_id, one.status) for one in now.steps} | ({now.phase} if now.phase else set())
