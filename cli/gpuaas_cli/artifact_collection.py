"""Collects artifacts that nothing refers to, or lists what a collection would take."""

from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.output import Column, print_list
from gpuaas_cli.session import Session
from gpuaas_sdk import GarbageArtifact

COLUMNS: list[Column[GarbageArtifact]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("NAME", lambda one: one.name),
    Column("STAGE", lambda one: one.stage),
    Column("BYTES", lambda one: one.size_bytes, right=True),
    Column("DUE", lambda one: "now" if one.due else one.collectable_at),
    Column("WHY", lambda one: one.reason),
]


def collect_artifacts(session: Session, project: str, reason: str | None, *, dry_run: bool, yes: bool) -> None:
    """Print the artifacts that are due, and delete them unless this is a dry run."""
    found = list(session.client.artifacts.garbage(project))
    due = [one for one in found if one.due]
    total = f"{len(due)} artifacts with {sum(one.size_bytes for one in due)} bytes"
    if dry_run:
        print_list(session, found, COLUMNS)
        session.say(f"A collection would delete {total}. Nothing was changed.")
        return
    if reason is None:
        next_step = "Give --reason, or --dry-run to list what would be deleted."
        raise CommandFailed("reason_needed", "A collection needs a reason.", next_step, ExitCode.USAGE)
    if due:
        session.confirm(f"Delete {total}? This cannot be undone.", yes)
    taken: list[GarbageArtifact] = []
    after: str | None = None
    while due:
        portion = session.client.artifacts.collect_garbage(project, reason, after=after)
        taken += portion.items
        after = portion.next_cursor
        if after is None:
            break
    print_list(session, taken, COLUMNS)
