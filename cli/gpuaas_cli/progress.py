"""Shows the progress of a long operation: a live line on a terminal, plain lines elsewhere."""

from datetime import datetime
from types import TracebackType

from rich.console import Console
from rich.status import Status
from rich.text import Text

from gpuaas_cli.output import style_of
from gpuaas_cli.session import Session
from gpuaas_sdk import Allocation, Timeline, TimelineEntry

_MARKS = {"succeeded": "✓", "left": "✓", "current": "•", "failed": "✗", "refused": "✗", "expired": "✗"}


class Progress:
    """`update` shows the current activity, `finish` a completed one. With JSON output both go to stderr."""

    def __init__(self, session: Session) -> None:
        self.console: Console = session.err if session.as_json else session.out
        self._status: Status | None = None
        self._last = ""

    def __enter__(self) -> "Progress":
        if self.console.is_terminal:
            self._status = self.console.status("…")
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def update(self, sentence: str) -> None:
        if sentence == self._last:
            return
        self._last = sentence
        if self._status is not None:
            self._status.update(Text(sentence))
        else:
            self.line(Text(sentence))

    def finish(self, sentence: str, seconds: float | None = None, mark: str = "✓") -> None:
        took = "" if seconds is None else f"  {seconds:.1f}s"
        self.line(Text.assemble((f"{mark} ", style_of_mark(mark)), sentence, (took, "dim")))

    def line(self, text: Text) -> None:
        self.console.print(text, soft_wrap=True)


class AllocationProgress:
    """Shows one allocation by its timeline, or several by their states."""

    def __init__(self, session: Session, project: str, since: datetime | None = None) -> None:
        """Entries that ended before `since` are not shown."""
        self._session = session
        self._project = project
        self._since = since
        self._shown: set[tuple[str, str]] = set()
        self._states: dict[str, str] = {}

    def follow(self, ids: list[str], deadline: float) -> list[Allocation]:
        """Follow the allocations until all reach a final state; return them in the order of `ids`."""
        latest: dict[str, Allocation] = {}
        with Progress(self._session) as progress:
            for allocation in self._session.client.allocations.follow(self._project, ids, deadline):
                latest[allocation.id] = allocation
                self._show(progress, allocation, len(ids) == 1)
        return [latest[one] for one in ids]

    def _show(self, progress: Progress, allocation: Allocation, in_detail: bool) -> None:
        name = allocation.name or allocation.id
        if in_detail:
            timeline = self._session.client.allocations.timeline(self._project, allocation.id)
            self._entries(progress, timeline)
            phase = f", {allocation.phase} on the host" if allocation.phase else ""
            progress.update(f"{name} is {allocation.state}{phase}")
        elif self._states.get(allocation.id) != allocation.state:
            self._states[allocation.id] = allocation.state
            progress.line(Text.assemble(f"{name} is ", (allocation.state, style_of(allocation.state))))

    def _entries(self, progress: Progress, timeline: Timeline) -> None:
        for entry in timeline.items:
            key = (entry.name, str(entry.at))
            history = self._since is not None and entry.at is not None and entry.at < self._since
            if entry.finished_at is not None and key not in self._shown and not history:
                self._shown.add(key)
                progress.finish(label_of(entry), entry.seconds, mark_of(entry))


def label_of(entry: TimelineEntry) -> str:
    indent = "" if entry.kind == "state" else "    " if "/" in entry.name else "  "
    return f"{indent}{entry.name}"


def mark_of(entry: TimelineEntry) -> str:
    return _MARKS.get(entry.name if entry.name == "failed" else entry.status, "•")


def style_of_mark(mark: str) -> str:
    return {"✓": "green", "✗": "red"}.get(mark, "yellow")
