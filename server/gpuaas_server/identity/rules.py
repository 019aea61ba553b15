"""The vocabulary of the policy: scopes, roles, levels, and what one rule says. The table itself is in policy.py."""

from dataclasses import field
from enum import Enum
from typing import Literal, get_args

from gpuaas_server.kernel.dataclass import dataclass

ScopeName = Literal[
    "allocations:read",
    "allocations:write",
    "apps:control",
    "apps:operate",
    "apps:provide",
    "artifacts:promote",
    "artifacts:publish",
    "artifacts:read",
    "credentials:read",
    "credentials:use",
    "events:read",
    "projects:read",
]
SCOPES: tuple[str, ...] = get_args(ScopeName)

PLATFORM_ADMIN = "platform_admin"
PLATFORM_OPERATOR = "platform_operator"
TENANT_ADMIN = "tenant_admin"
PROJECT_ADMIN = "project_admin"
PROJECT_MEMBER = "project_member"
PROJECT_VIEWER = "project_viewer"
PLATFORM_ROLES = frozenset({PLATFORM_ADMIN, PLATFORM_OPERATOR})


class Level(Enum):
    """Names where an action happens: this decides which roles count, and whether a refusal hides the place."""

    PUBLIC = "public"
    AGENT = "agent"  # admitted by nodes/gate.py, by the node's own key
    SIGNED_IN = "signed_in"
    PLATFORM = "platform"
    TENANT = "tenant"  # tenant_id is in the path
    PROJECT = "project"  # project_id is in the path


class Verdict(Enum):
    ALLOWED = 200
    UNAUTHENTICATED = 401
    FORBIDDEN = 403
    HIDDEN = 404


@dataclass(frozen=True, slots=True)
class Rule:
    """Says who may do an action. `scope` permits it to a service account, as does one of `also`; None keeps service accounts
    out.

    `while_disabled`: also in a disabled tenant or project, because it ends something or undoes the disabling.
    `own_only`: holders of nothing else may do it to their own resources only; the verb says which those are.
    """

    level: Level
    roles: frozenset[str] = frozenset()
    scope: str | None = None
    needs_reason: bool = False
    while_disabled: bool = False
    also: frozenset[str] = frozenset()
    own_only: frozenset[str] = frozenset()
    grants: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        scopes = self.also | ({self.scope} if self.scope else set())
        object.__setattr__(self, "grants", self.roles | scopes)
