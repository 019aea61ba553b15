"""What other nouns use of admission: the gate, and the policy for callers that come by another way than this API."""

from gpuaas_server.admission.gate import IdentityGate
from gpuaas_server.identity.service import RULES, Principal, Verdict, decide
from gpuaas_server.projects.service import ProjectPlace

__all__ = ["IdentityGate", "may"]


def may(principal: Principal, action: str, place: ProjectPlace) -> bool:
    """Whether the policy would admit the action there; in a disabled place, or one that is to be deleted, only what ends
    something.
    """
    if place.deleting and not RULES[action].while_disabled:
        return False
    if place.disabled and not RULES[action].while_disabled and not principal.platform_roles:
        return False
    return decide(principal, action, place.tenant_id, place.project_id) is Verdict.ALLOWED
