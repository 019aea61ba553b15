"""Holds what the gate answers for a call that it allows. Services take it without the web framework."""

from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Actor
from gpuaas_server.kernel.database import Scope
from gpuaas_server.kernel.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Admission:
    """The gate's answer for an allowed call: who acts, what they hold, and which rows the database may show them."""

    actor: Actor
    scope: Scope
    caller: Caller


@dataclass(frozen=True, slots=True)
class AdmittedAction:
    """The action that a request was admitted for. The gate leaves it on the request for a later refusal."""

    action: str
    admission: Admission
