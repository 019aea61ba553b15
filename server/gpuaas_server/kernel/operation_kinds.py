"""The kinds of operation. Schemas, the manifest's enum, endpoints, policy rows and the state tables derive from this table,
and so do commands and actions, from what the contract publishes of it.

It is in the kernel because the policy (in `identity`) and `operations` both read it. To add a kind, add a row here and
follow "Add an operation kind" in CONTRIBUTING.md: handlers of controllers do not derive from it.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Describes what one kind of operation does to an instance and its members. The defaults leave members as they are."""

    name: str
    target: str  # instance: the whole; member: one member, or many below a bulk operation
    description: (
        str  # what it does, in the imperative, for endpoint, command and dialog; its first sentence is a summary
    )
    confirmation: str | None = None  # what is lost; clients say it and ask before they send such an operation
    teardown: str | None = None  # what is proven on the hosts: `stopped`, nothing runs, or `gone`, nothing is left
    brings_bytes: bool = False  # it brings the bytes of the instance's version to a host, first or once more
    changes_version: bool = False
    closable: bool = True  # an app may say that it does not take it in the form that the instance has
    options: bool = True  # the app's manifest may take options with it
    has_own_endpoint: bool = False  # it takes more than options, and has an endpoint and a function of its own
    yields_to_release: bool = (
        False  # unclaimed, it is cancelled when an allocation of its members is released; it can follow again
    )

    # Of a kind on the whole instance: when it may be requested, and what the instance becomes.
    instance_from: tuple[str, ...] = ()  # once it was deployed
    from_undeployed: bool = False  # after a first deploy that failed
    needs_previous: bool = False  # only where there is a version to go back to
    instance_requested: str | None = None  # its status as soon as it is requested
    instance_begun: str | None = (
        None  # its status as soon as a controller works on it; until then, a new one stays `created`
    )
    instance_done: str = "running"  # also from another status; success clears the failure of the operation before
    breaking: bool = False  # once begun, it leaves nothing to rely on when it fails
    breaking_unclaimed: bool = False  # it does so when no controller has ever begun it, too
    ends_instance: bool = False

    # Of the members that it works on.
    member_from: tuple[str, ...] = ()  # what a member may be for an operation on it to begin
    member_begun: str | None = None
    member_done: str = "ready"
    overrules_reports: bool = False  # success makes members what `member_done` says, whatever their controller reported
    member_broken: str = "failed"  # what a member is after a failure in between
    may_remove_required_members: bool = (
        False  # it may remove members that the app needs: `min` and `depends_on` hold, unless forced
    )
    adds_members: bool = False
    removes_members: bool = False
    fields: tuple[str, ...] = ()  # of a request for a member operation: those that it takes, all of them and no others


_TABLE = (
    Kind(
        name="deploy",
        target="instance",
        description="Deploy again, after a first deployment that failed.",
        brings_bytes=True,
        closable=False,
        options=False,
        yields_to_release=True,
        from_undeployed=True,
        instance_requested="starting",
        instance_begun="starting",
        breaking=True,
        breaking_unclaimed=True,
        member_begun="joining",
    ),
    Kind(
        name="start",
        target="instance",
        description="Start again after a stop or a failure, on the same members and version.",
        instance_from=("stopped", "failed"),
        instance_requested="starting",
        breaking=True,
        member_begun="joining",
    ),
    Kind(
        name="stop",
        target="instance",
        description="Stop all members and keep their files. The platform inspects the hosts for proof.",
        confirmation="Whatever runs there ends.",
        teardown="stopped",
        instance_from=("running", "failed"),
        instance_requested="stopping",
        instance_done="stopped",
        breaking=True,
        member_begun="draining",
        member_done="drained",
        overrules_reports=True,
    ),
    Kind(
        name="restart",
        target="instance",
        description="Stop and start all members in one operation. The hosts are not inspected in between.",
        instance_from=("running", "failed"),
        instance_requested="starting",
        breaking=True,
        member_begun="joining",
    ),
    Kind(
        name="upgrade",
        target="instance",
        description="Change to another version of the app. The version before stays known for a rollback.",
        changes_version=True,
        has_own_endpoint=True,
        instance_from=("running",),
    ),
    Kind(
        name="rollback",
        target="instance",
        description=(
            "Return to the version before the last upgrade, or, after a failed upgrade, to the version that it began from."
        ),
        changes_version=True,
        instance_from=("running", "failed"),
        needs_previous=True,
    ),
    Kind(
        name="reconcile",
        target="instance",
        description="Bring all members in line with the inputs. What is already right is not touched.",
        brings_bytes=True,
        instance_from=("running",),
    ),
    # The way out is never closed: repair and decommission stay open, whatever an app says.
    Kind(
        name="repair",
        target="instance",
        description="Let the app's controller repair what is broken. Members that work are left alone.",
        brings_bytes=True,
        closable=False,
        instance_from=("running", "failed"),
    ),
    Kind(
        name="decommission",
        target="instance",
        description="Remove the app from all hosts, with a receipt for each, and end the instance. Its history stays.",
        confirmation="This cannot be undone.",
        teardown="gone",
        closable=False,
        instance_from=("running", "stopped", "failed"),
        from_undeployed=True,
        instance_requested="stopping",
        instance_done="stopped",
        breaking=True,
        ends_instance=True,
        member_begun="removing",
        member_done="removed",
        overrules_reports=True,
    ),
    Kind(
        name="add",
        target="member",
        description="Add a member on each of the allocations.",
        brings_bytes=True,
        yields_to_release=True,
        member_begun="joining",
        adds_members=True,
        fields=("component_key", "allocation_ids"),
    ),
    Kind(
        name="drain",
        target="member",
        description="Let members finish their work and take no new work, until they are recovered.",
        member_from=("ready", "degraded"),
        member_begun="draining",
        member_done="drained",
        member_broken="degraded",  # it still serves
        may_remove_required_members=True,
        fields=("targets",),
    ),
    Kind(
        name="remove",
        target="member",
        description="Remove members permanently, also failed ones. The platform inspects their hosts for proof.",
        confirmation="Whatever runs there ends.",
        teardown="gone",
        member_from=("ready", "degraded", "drained", "failed", "pending"),
        member_begun="removing",
        member_done="removed",
        overrules_reports=True,
        may_remove_required_members=True,
        removes_members=True,
        fields=("targets",),
    ),
    Kind(
        name="replace",
        target="member",
        description=(
            "Add a new member on another allocation, then remove the old one. The platform inspects its host for proof."
        ),
        confirmation="Whatever runs on the old members ends.",
        teardown="gone",
        brings_bytes=True,
        member_from=("ready", "degraded", "drained", "failed"),
        member_begun="draining",
        member_done="removed",
        overrules_reports=True,
        may_remove_required_members=True,
        adds_members=True,
        removes_members=True,
        fields=("replacements",),
    ),
    Kind(
        name="recover",
        target="member",
        description="Bring degraded, failed or drained members back on the allocations that they have.",
        brings_bytes=True,
        member_from=("degraded", "failed", "drained"),
        member_begun="joining",
        fields=("targets",),
    ),
)

KINDS: dict[str, Kind] = {kind.name: kind for kind in _TABLE}
INSTANCE_KINDS = tuple(kind.name for kind in _TABLE if kind.target == "instance")
MEMBER_KINDS = tuple(kind.name for kind in _TABLE if kind.target == "member")
TEARDOWNS = tuple(kind.name for kind in _TABLE if kind.teardown)
BRINGS_CURRENT = frozenset(kind.name for kind in _TABLE if kind.brings_bytes)
CHANGES_VERSION = frozenset(kind.name for kind in _TABLE if kind.changes_version)
CLOSABLE = tuple(kind.name for kind in _TABLE if kind.closable)
WITH_OPTIONS = tuple(kind.name for kind in _TABLE if kind.options)
MAY_REMOVE_REQUIRED_MEMBERS = tuple(kind.name for kind in _TABLE if kind.may_remove_required_members)
# The kind that a replacement is for the member that it adds.
(ADD,) = (kind.name for kind in _TABLE if kind.adds_members and not kind.removes_members)
# The columns that the contract publishes for clients.
PUBLISHED = (
    "name",
    "target",
    "description",
    "confirmation",
    "has_own_endpoint",
    "fields",
    "may_remove_required_members",
)

# The wire types: an enumeration in the contract, a plain string for mypy, which cannot read a table.
if TYPE_CHECKING:
    OperationKind = str
    ClosableKind = str
    MemberKind = str
else:
    OperationKind = Literal[tuple(KINDS)]
    ClosableKind = Literal[CLOSABLE]
    MemberKind = Literal[MEMBER_KINDS]


def published_kinds() -> list[dict[str, object]]:
    """Return what the contract says of each kind, in the order of the table, so that no client keeps a list of its own."""
    return [{column: getattr(kind, column) for column in PUBLISHED} for kind in _TABLE]
