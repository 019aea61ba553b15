"""Names of members for people: `worker/1` instead of the id."""

from contextlib import suppress

from gpuaas_cli.session import Session
from gpuaas_sdk import Denied, NotFound


class MemberNames:
    """Reads the members of an instance once, and again when an id is new: a member may have joined since."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._names: dict[str, str] = {}

    def of(self, project_id: str, instance_id: str, member_id: str) -> str:
        """Return the name of a member, removed or not; its id where the caller may not see the instance's members."""
        if member_id not in self._names:
            with suppress(NotFound, Denied):
                members = self._session.client.instances.members(project_id, instance_id, removed=True)
                self._names |= {one.id: one.name for one in members}
        return self._names.setdefault(member_id, member_id)
