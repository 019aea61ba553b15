"""The check of every version that an instance takes, keeps on further hosts or returns to, and the flags that follow from it.

The catalogue decides (catalog.service.version_refusals): the same function for a launch, an upgrade and everything here.
Start and restart run what is on the hosts already, so they bring no bytes and are not asked about.
"""

from collections.abc import Sequence

from gpuaas_server.catalog import service as catalog
from gpuaas_server.catalog.service import Reason
from gpuaas_server.instances.rows import (
    InstanceRow,
    InstanceSummaryRow,
    ListedInstanceRow,
    ReasonDocument,
    VersionDocument,
)
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.operations.service import BRINGS_CURRENT, CHANGES_VERSION

PREVIOUS_REFUSED = "previous_version_refused"
ATTEMPTED_REFUSED = "attempted_version_refused"
# The code that a refusal has, and the flag of an instance that runs such bytes: the first of these that is among the reasons.
_CODES = ("artifact_revoked", "artifact_untrusted")
_OTHERWISE = "version_refused"
RUNNING_REFUSED = frozenset({*_CODES, _OTHERWISE})
# After a failed version change, the attempted version may run on hosts; the previous one, kept for a rollback, does not.
NOT_RUNNING = frozenset({PREVIOUS_REFUSED})

_LEAVE = "Upgrade it (start it first, if it does not run), or decommission it."


def rollback_target(row: InstanceRow) -> VersionDocument | None:
    """Return the version from before a change that broke off; otherwise the one before the last upgrade."""
    return row.current_version() if row.attempted is not None else row.previous


def version_brought(row: InstanceRow, kind: str) -> VersionDocument | None:
    """Return the version whose bytes an operation of this kind brings to hosts; None if it brings none."""
    if kind in CHANGES_VERSION:
        return row.attempted
    return row.current_version() if kind in BRINGS_CURRENT else None


async def refuse_version(connection: Connection, row: InstanceRow, version: VersionDocument) -> None:
    """Raise the problem with every reason why the instance may not have the bytes of this version brought to a host."""
    reasons = await _refusals(connection, row, version)
    if reasons:
        details: dict[str, object] = {"version": version["version"], "reasons": catalog.reason_documents(reasons)}
        raise Problem(refusal_code(reasons), f"{_sentence(reasons)} {_LEAVE}", details)


def refusal_code(reasons: Sequence[Reason]) -> str:
    found = {reason.code for reason in reasons}
    return next((code for code in _CODES if code in found), _OTHERWISE)


async def flags_of(connection: Connection, row: InstanceRow) -> list[ReasonDocument]:
    """Derive the flags about the version that the instance runs, and about those that it could return to."""
    flags: list[ReasonDocument] = []
    current = await _refusals(connection, row, row.current_version())
    if current:
        flags.append({"code": refusal_code(current), "message": f"{_sentence(current)} {_LEAVE}"})
    for version, name, code, advice in (
        (row.attempted, "attempted", ATTEMPTED_REFUSED, "Roll back, or upgrade to another version."),
        (
            row.previous,
            "previous",
            PREVIOUS_REFUSED,
            "A rollback to it is refused; upgrade to another version instead.",
        ),
    ):
        reasons = [] if version is None else await _refusals(connection, row, version)
        if version is not None and reasons:
            named = f"The {name} version {version['version']} may not be used any more:"
            flags.append({"code": code, "message": f"{named} {_sentence(reasons)} {advice}"})
    return flags


async def _refusals(connection: Connection, row: InstanceRow, version: VersionDocument) -> list[Reason]:
    place = (row.tenant_id, row.project_id)
    known = (version["version_id"], version["digest"] or "", version["publisher_project_id"])
    return await catalog.version_refusals(connection, *place, *known, returning=True)


def _sentence(reasons: Sequence[Reason]) -> str:
    return " ".join(reason.message for reason in reasons)


def runs_refused(row: InstanceSummaryRow) -> bool:
    """Tell whether the version that it runs is flagged as refused. The code decides, not the sentence."""
    return any(flag["code"] in RUNNING_REFUSED for flag in row.flags)


def can_roll_back(row: InstanceRow | ListedInstanceRow) -> bool:
    """Tell whether there is a version to go back to that is not known to be refused."""
    if row.has_attempted:
        return not runs_refused(row)
    return row.has_previous and all(flag["code"] != PREVIOUS_REFUSED for flag in row.flags)
