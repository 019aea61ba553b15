"""The kinds of operation. Written by tools/sdk-client; change the contract instead."""

from dataclasses import dataclass

__all__ = ["OPERATION_KINDS", "OperationKind"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationKind:
    """Tells a client what it has to know of a kind of operation to offer it.

    `description` says what it does. `confirmation` says what is lost; where there is one, a client asks before it sends the
    request. `fields` are what a request for a member operation takes.
    """

    name: str
    target: str
    description: str
    confirmation: str | None
    has_own_endpoint: bool
    fields: tuple[str, ...]
    may_remove_required_members: bool


OPERATION_KINDS = {
    kind.name: kind
    for kind in (
        OperationKind(
            confirmation=None,
            description="Deploy again, after a first deployment that failed.",
            fields=(),
            has_own_endpoint=False,
            may_remove_required_members=False,
            name="deploy",
            target="instance",
        ),
        OperationKind(
            confirmation=None,
            description="Start again after a stop or a failure, on the same members and version.",
            fields=(),
            has_own_endpoint=False,
            may_remove_required_members=False,
            name="start",
            target="instance",
        ),
        OperationKind(
            confirmation="Whatever runs there ends.",
            description="Stop all members and keep their files. The platform inspects the hosts for proof.",
            fields=(),
            has_own_endpoint=False,
            may_remove_required_members=False,
            name="stop",
            target="instance",
        ),
        OperationKind(
            confirmation=None,
            description="Stop and start all members in one operation. The hosts are not inspected in between.",
            fields=(),
            has_own_endpoint=False,
            may_remove_required_members=False,
            name="restart",
            target="instance",
        ),
        OperationKind(
            confirmation=None,
            description="Change to another version of the app. The version before stays known for a rollback.",
            fields=(),
            has_own_endpoint=True,
            may_remove_required_members=False,
            name="upgrade",
            target="instance",
        ),
        OperationKind(
            confirmation=None,
            description="Return to the version before the last upgrade, or, after a failed upgrade, to the version that it began from.",
            fields=(),
            has_own_endpoint=False,
            may_remove_required_members=False,
            name="rollback",
            target="instance",
        ),
        OperationKind(
            confirmation=None,
            description="Bring all members in line with the inputs. What is already right is not touched.",
            fields=(),
            has_own_endpoint=False,
            may_remove_required_members=False,
            name="reconcile",
            target="instance",
        ),
        OperationKind(
            confirmation=None,
            description="Let the app's controller repair what is broken. Members that work are left alone.",
            fields=(),
            has_own_endpoint=False,
            may_remove_required_members=False,
            name="repair",
            target="instance",
        ),
        OperationKind(
            confirmation="This cannot be undone.",
            description="Remove the app from all hosts, with a receipt for each, and end the instance. Its history stays.",
            fields=(),
            has_own_endpoint=False,
            may_remove_required_members=False,
            name="decommission",
            target="instance",
        ),
        OperationKind(
            confirmation=None,
            description="Add a member on each of the allocations.",
            fields=("component_key", "allocation_ids"),
            has_own_endpoint=False,
            may_remove_required_members=False,
            name="add",
            target="member",
        ),
        OperationKind(
            confirmation=None,
            description="Let members finish their work and take no new work, until they are recovered.",
            fields=("targets",),
            has_own_endpoint=False,
            may_remove_required_members=True,
            name="drain",
            target="member",
        ),
        OperationKind(
            confirmation="Whatever runs there ends.",
            description="Remove members permanently, also failed ones. The platform inspects their hosts for proof.",
            fields=("targets",),
            has_own_endpoint=False,
            may_remove_required_members=True,
            name="remove",
            target="member",
        ),
        OperationKind(
            confirmation="Whatever runs on the old members ends.",
            description="Add a new member on another allocation, then remove the old one. The platform inspects its host for proof.",
            fields=("replacements",),
            has_own_endpoint=False,
            may_remove_required_members=True,
            name="replace",
            target="member",
        ),
        OperationKind(
            confirmation=None,
            description="Bring degraded, failed or drained members back on the allocations that they have.",
            fields=("targets",),
            has_own_endpoint=False,
            may_remove_required_members=False,
            name="recover",
            target="member",
        ),
    )
}
