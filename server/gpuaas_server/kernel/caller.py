"""`Caller`: who makes a call, and what they hold in the project or tenant that it is about."""

from collections.abc import Callable
from dataclasses import replace

from gpuaas_server.kernel.dataclass import dataclass


def _no_roles(project_id: str | None) -> frozenset[str]:
    return frozenset()


@dataclass(frozen=True, slots=True)
class Caller:
    """Tells services who makes a call. The gate makes one for each admitted call; services ask it what an answer may offer and
    show.
    """

    id: str = ""
    tenant_id: str = ""  # of the project or tenant in the path; empty for platform paths
    project_id: str = ""  # in the path; empty where there is none
    roles: frozenset[str] = frozenset()  # in that place; a service account has its scopes like roles
    apps: frozenset[str] = frozenset()  # slugs of the apps that a service account is the controller of
    by_consent: bool = False  # a controller of another project, which the tenant consents to
    # What the caller holds in another project of the tenant, for the few verbs that reach into a second one.
    roles_in: Callable[[str], frozenset[str]] = _no_roles

    def in_project(self, project_id: str) -> "Caller":
        """Return the same caller in another project of the tenant."""
        return replace(self, project_id=project_id, roles=self.roles_in(project_id), apps=frozenset())


NOBODY = Caller()
