"""The kinds of operation. Written by tools/sdk-client; change the contract instead."""

from dataclasses import dataclass

__all__ = ["OPERATION_KINDS", "OperationKind"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationKind:
    """What a client has to know of a kind of operation to offer it.

    `about` says what it does; `confirm` what is lost, and that a client asks before it sends one. `fields` are what a
    request for a member operation takes.
    """

    name: str
    target: str
    about: str
    confirm: str | None
    own_endpoint: bool
    fields: tuple[str, ...]
    may_take_needed: bool


OPERATION_KINDS = {
    kind.name: kind
    for kind in (
        OperationKind(
            about="Deploy again, after a first deployment that failed.",
            confirm=None,
            fields=(),
            may_take_needed=False,
            name="deploy",
            own_endpoint=False,
            target="instance",
        ),
        OperationKind(
            about="Start again after a stop or a failure, on the same members and version.",
            confirm=None,
            fields=(),
            may_take_needed=False,
            name="start",
            own_endpoint=False,
            target="instance",
        ),
        OperationKind(
            about="Stop all members and keep their files. The platform inspects the hosts for proof.",
            confirm="Whatever runs there ends.",
            fields=(),
            may_take_needed=False,
            name="stop",
            own_endpoint=False,
            target="instance",
        ),
        OperationKind(
            about="Stop and start all members in one operation. The hosts are not inspected in between.",
            confirm=None,
            fields=(),
            may_take_needed=False,
            name="restart",
            own_endpoint=False,
            target="instance",
        ),
        OperationKind(
            about="Change to another version of the app. The version before stays known for a rollback.",
            confirm=None,
            fields=(),
            may_take_needed=False,
            name="upgrade",
            own_endpoint=True,
            target="instance",
        ),
        OperationKind(
            about="Return to the version before the last upgrade, or, after a failed upgrade, to the version that it began from.",
            confirm=None,
            fields=(),
            may_take_needed=False,
            name="rollback",
            own_endpoint=False,
            target="instance",
        ),
        OperationKind(
            about="Bring all members in line with the inputs. What is already right is not touched.",
            confirm=None,
            fields=(),
            may_take_needed=False,
            name="reconcile",
            own_endpoint=False,
            target="instance",
        ),
        OperationKind(
            about="Let the app's controller repair what is broken. Members that work are left alone.",
            confirm=None,
            fields=(),
            may_take_needed=False,
            name="repair",
            own_endpoint=False,
            target="instance",
        ),
        OperationKind(
            about="Remove the app from all hosts, with a receipt for each, and end the instance. Its history stays.",
            confirm="This cannot be undone.",
            fields=(),
            may_take_needed=False,
            name="decommission",
            own_endpoint=False,
            target="instance",
        ),
        OperationKind(
            about="Add a member on each of the allocations.",
            confirm=None,
            fields=("component_key", "allocation_ids"),
            may_take_needed=False,
            name="add",
            own_endpoint=False,
            target="member",
        ),
        OperationKind(
            about="Let members finish their work and take no new work, until they are recovered.",
            confirm=None,
            fields=("targets",),
            may_take_needed=True,
            name="drain",
            own_endpoint=False,
            target="member",
        ),
        OperationKind(
            about="Remove members permanently, also failed ones. The platform inspects their hosts for proof.",
            confirm="Whatever runs there ends.",
            fields=("targets",),
            may_take_needed=True,
            name="remove",
            own_endpoint=False,
            target="member",
        ),
        OperationKind(
            about="Add a new member on another allocation, then remove the old one. The platform inspects its host for proof.",
            confirm="Whatever runs on the old members ends.",
            fields=("replacements",),
            may_take_needed=True,
            name="replace",
            own_endpoint=False,
            target="member",
        ),
        OperationKind(
            about="Bring degraded, failed or drained members back on the allocations that they have.",
            confirm=None,
            fields=("targets",),
            may_take_needed=False,
            name="recover",
            own_endpoint=False,
            target="member",
        ),
    )
}
