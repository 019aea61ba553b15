"""Prints operations, and follows one to its end."""

import time
from collections.abc import Iterable
from datetime import datetime

import typer
from rich.table import Table
from rich.text import Text

from gpuaas_cli.failures import ExitCode
from gpuaas_cli.member_names import MemberNames
from gpuaas_cli.output import Column, age, cell, moment, print_card, print_list, short_moment
from gpuaas_cli.progress import Progress, style_of_mark
from gpuaas_cli.session import Session
from gpuaas_sdk import Operation, OperationStep

_MARKS = {"succeeded": "✓", "failed": "✗", "skipped": "–", "running": "•"}


def _member(names: MemberNames, operation: Operation, member_id: str | None) -> str | None:
    return None if member_id is None else names.of(operation.project_id, operation.instance_id, member_id)


def _summary(operation: Operation) -> str | None:
    """Return the most useful detail for a table: the failure, else the progress."""
    if operation.failure is not None:
        return operation.failure.code
    progress = operation.progress
    if operation.finished_at is not None:
        return None  # the last reported progress of an ended operation has no meaning
    if operation.phase is not None or progress is None or progress.percent is None:
        return operation.phase
    return f"{progress.percent} %"


def print_operations(session: Session, operations: Iterable[Operation]) -> None:
    names = MemberNames(session)
    columns: list[Column[Operation]] = [
        Column("ID", lambda one: one.id, whole=True),
        Column("KIND", lambda one: one.kind, whole=True),
        Column("STATUS", lambda one: one.status, whole=True),
        Column("MEMBER", lambda one: _member(names, one, one.member_id), whole=True),
        Column("INSTANCE", lambda one: one.instance_id),
        Column("DETAIL", _summary),
        Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
    ]
    print_list(session, operations, columns)


def print_operation(session: Session, operation: Operation) -> None:
    if session.as_json:
        print_card(session, operation, [])
        return
    why, forced, names = operation.failure, operation.forced, MemberNames(session)
    fields = [
        ("Id", operation.id),
        ("Kind", f"{operation.kind} (several members)" if operation.target == "bulk" else operation.kind),
        ("Status", operation.status),
        ("Since", operation.status_since),
        ("Phase", operation.phase),
        ("Progress", _progress(operation) if operation.live else None),  # only while it runs
        ("Failure", f"{why.message} ({why.code})" if why else None),
        ("Next", why.next_step if why and not forced else None),
        ("Forced", f"by {forced.by}, {moment(forced.at)}: {forced.reason} (not verified)" if forced else None),
        ("Instance", operation.instance_id),
        ("App", operation.app_slug),
        ("Member", _member(names, operation, operation.member_id)),
        ("New member", _member(names, operation, operation.new_member_id)),
        ("Part of", operation.parent_id),
        ("Parts", operation.children),
        ("On failure", operation.on_failure),
        ("Parameters", operation.parameters),
        ("Reason", operation.reason),
        ("Requested by", operation.requested_by_name or operation.requested_by),
        ("Controller", _worker(operation)),
        ("Cancel requested", operation.cancel_requested_at),
        ("Created", operation.created_at),
        ("Finished", operation.finished_at),
        ("Deadline", None if operation.finished_at else operation.deadline_at),
        ("You may", [action.removeprefix("operation_") for action in operation.allowed_actions]),
        ("Correlation id", operation.correlation_id),
    ]
    print_card(session, operation, fields)
    if operation.steps:
        _print_steps(session, operation, names)


def _progress(operation: Operation) -> str | None:
    progress = operation.progress
    if progress is None:
        return None
    percent = "" if progress.percent is None else f"{progress.percent} %"
    return " ".join(part for part in (percent, progress.message) if part)


def _worker(operation: Operation) -> str | None:
    if operation.controller_id is None:
        return None
    attempt = f", attempt {operation.attempt}" if operation.attempt > 1 else ""
    return f"{operation.replica} of {operation.controller_id}{attempt}"


def _print_steps(session: Session, operation: Operation, names: MemberNames) -> None:
    table = Table("", "STEP", "STATUS", "AT", "TOOK", "DETAIL", box=None, pad_edge=False, header_style="bold")
    table.columns[4].justify = "right"
    for step in operation.steps:
        mark, took = _MARKS.get(step.status, "•"), _seconds(step)
        detail = " ".join(part for part in (step.message, _member(names, operation, step.member_id)) if part)
        table.add_row(
            Text(mark, style=style_of_mark(mark)),
            step.name,
            cell(step.status),
            short_moment(step.started_at),
            "" if took is None else f"{took:.1f}s",
            detail,
        )
    session.out.print()
    session.out.print(table)


def _seconds(step: OperationStep) -> float | None:
    return _seconds_between(step.started_at, step.finished_at)


def _seconds_between(start: datetime | None, end: datetime | None) -> float | None:
    return None if start is None or end is None else (end - start).total_seconds()


class OperationProgress:
    """Shows each finished step and the current one; of a bulk operation, each member's operation that has ended."""

    def __init__(self, session: Session, project: str) -> None:
        self._session = session
        self._project = project
        self._names = MemberNames(session)
        self._shown: set[tuple[str, str | None, object]] = set()

    def follow(self, operation_id: str, deadline: float) -> Operation:
        with Progress(self._session) as progress:
            for operation in self._session.client.operations.follow(self._project, operation_id, deadline):
                self._steps(progress, operation)
                if operation.target == "bulk":
                    self._children(progress, operation)
                progress.update(_sentence(operation))
        return operation

    def _steps(self, progress: Progress, operation: Operation) -> None:
        for step in operation.steps:
            key = (step.name, step.member_id, step.finished_at)
            if step.finished_at is not None and key not in self._shown:
                self._shown.add(key)
                member = _member(self._names, operation, step.member_id)
                line = " ".join(part for part in (f"  {step.name}", step.message, member) if part)
                progress.finish(line, _seconds(step), _MARKS.get(step.status, "•"))

    def _children(self, progress: Progress, parent: Operation) -> None:
        for child in self._session.client.operations.list(self._project, parent_id=parent.id):
            key = (child.id, child.member_id, child.finished_at)
            if child.finished_at is not None and key not in self._shown:
                self._shown.add(key)
                member = _member(self._names, child, child.member_id)
                why = f": {child.failure.message}" if child.failure else ""
                seconds = _seconds_between(child.claimed_at, child.finished_at)
                progress.finish(f"  {child.kind} {member} {child.status}{why}", seconds, _MARKS.get(child.status, "✗"))


def _sentence(operation: Operation) -> str:
    if operation.children is not None:
        parts = ", ".join(f"{count} {status}" for status, count in operation.children.items())
        return f"{operation.kind} is {operation.status}: {parts}"
    if operation.phase == "verifying":
        return f"{operation.kind} is done; the platform inspects the hosts"
    if operation.phase == "probing":
        return f"{operation.kind} is done; the platform waits until the readiness probes pass"
    doing = [step.name for step in operation.steps if step.status == "running"]
    detail = ", ".join(part for part in (_progress(operation), *doing) if part)
    if operation.status == "pending":
        detail = "waiting for a controller"
    return f"{operation.kind} is {operation.status}{f': {detail}' if detail and operation.live else ''}"


def print_ended(session: Session, operation: Operation) -> None:
    """Print an ended operation; the exit code is 0 only if it succeeded."""
    print_operation(session, operation)
    if operation.status != "succeeded":
        raise typer.Exit(ExitCode.FAILED)


def follow_to_end(session: Session, project: str, operation: Operation, deadline: float) -> None:
    """Follow an operation and the secret rotation that may come after it, so that the next request is not refused."""
    ends = time.monotonic() + deadline
    print_ended(session, OperationProgress(session, project).follow(operation.id, deadline))
    rotation = session.client.operations.rotation_after(project, operation)
    if rotation is not None:
        _note(session, f"The shared secrets of the members are being rotated ({rotation.id}): {rotation.reason}.")
        left = max(ends - time.monotonic(), 0.0)
        _note_failure(session, OperationProgress(session, project).follow(rotation.id, left))


def _note_failure(session: Session, rotation: Operation) -> None:
    """Report a failed rotation without changing the exit code: the requested operation succeeded."""
    if rotation.status != "succeeded":
        why = rotation.failure.message if rotation.failure else rotation.status
        _note(session, f"The secrets were not rotated: {why} See `gpuaas operations show {rotation.id}`.")


def _note(session: Session, sentence: str) -> None:
    session.err.print(Text(sentence), soft_wrap=True)
