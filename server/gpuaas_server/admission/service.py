"""Offers other nouns a part of admission: the gate, and the policy for callers that come by another way than this API."""

from gpuaas_server.admission.gate import IdentityGate
from gpuaas_server.identity.service import RULES, Principal, Verdict, decide
from gpuaas_server.projects.service import CallTarget

__all__ = ["IdentityGate", "may"]


def may(principal: Principal, action: str, target: CallTarget) -> bool:
    """Tell whether the policy admits the action there. If the project or tenant is disabled, or to be deleted, it admits only
    what ends something.
    """
    if target.deleting and not RULES[action].while_disabled:
        return False
    if target.disabled and not RULES[action].while_disabled and not principal.platform_roles:
        return False
    return decide(principal, action, target.tenant_id, target.project_id) is Verdict.ALLOWED
