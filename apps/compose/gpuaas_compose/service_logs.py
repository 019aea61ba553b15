"""Shows what the services of an instance write, line by line with their names, while other things go on."""

import threading
from collections.abc import Mapping

from gpuaas_sdk import GpuaasError, LogLine
from gpuaas_sdk.commands import CommandSession

_FIRST_LINES = 20  # of what a host wrote before it is followed
_END_OF_ID = 6  # a member's unit ends with so much of its id


class ServiceLogs:
    """Follows one instance at a time. A thread for each host prints its lines; all are daemons and end with the program."""

    def __init__(self, session: CommandSession, project_id: str) -> None:
        self._session, self._project_id = session, project_id
        self._instance_id: str | None = None

    def follow(self, instance_id: str) -> None:
        """Show the lines of this instance from now on; nothing, if it is shown already."""
        if instance_id == self._instance_id:
            return
        self._instance_id = instance_id
        members = list(self._session.client.instances.members(self._project_id, instance_id))
        services = {one.id[-_END_OF_ID:]: one.component_key for one in members}
        # A member's log is that of all services on its allocation.
        for member_id in {one.allocation_id: one.id for one in members}.values():
            threading.Thread(target=self._show, args=(instance_id, member_id, services), daemon=True).start()

    def end(self) -> None:
        self._instance_id = None

    def _show(self, instance_id: str, member_id: str, services: Mapping[str, str]) -> None:
        calls = self._session.client.logs
        try:
            for one in calls.follow(self._project_id, instance_id, member=member_id, tail=_FIRST_LINES):
                if self._instance_id != instance_id:
                    return
                if not isinstance(one, LogLine):
                    self._session.say(f"… {one.lines} lines left out")
                elif one.text.strip():
                    self._session.say(f"{service_of(one.source, services)} | {one.text}")
        except GpuaasError as error:
            if self._instance_id == instance_id:
                self._session.say(f"A log cannot be followed any more: {error.detail}")


def service_of(source: str, services: Mapping[str, str]) -> str:
    """Return the service that wrote a line, by its unit; `services` are keys by the ends of their members' ids."""
    end = source.removesuffix(".service")[-_END_OF_ID:]
    return services.get(end, source)
