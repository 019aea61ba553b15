"""The demo's output: lines while a step runs, a table at the end, and var/demo-report.json."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.status import Status
from rich.table import Table


@dataclass
class Step:
    name: str
    seconds: float = 0.0
    verdict: str = "failed"
    detail: str = ""


@dataclass
class Report:
    mode: str
    console: Console = field(default_factory=lambda: Console(highlight=False))
    steps: list[Step] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # parts that this machine cannot run, with the reason
    set_up_seconds: float = 0.0
    _status: Status | None = None

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Time a step; its code sets `detail` to the result. An exception makes the verdict `failed` and is raised again."""
        step = Step(name)
        self.steps.append(step)
        self.console.print(f"[bold]›[/bold] {name} …")
        started = time.monotonic()
        try:
            # Shows a spinner on a terminal and prints nothing elsewhere.
            with self.console.status("") as self._status:
                yield step
            step.verdict = "ok"
        except BaseException as error:
            step.detail = step.detail or f"{type(error).__name__}: {error}"[:300]
            raise
        finally:
            self._status = None
            step.seconds = round(time.monotonic() - started, 2)
            mark = "[green]✔[/green]" if step.verdict == "ok" else "[red]✘[/red]"
            self.console.print(f"  {mark} {step.seconds:6.2f} s  {escape(step.detail)}")

    def print_line(self, line: str) -> None:
        """Print one line below the current step."""
        self.console.print(f"             {line}", soft_wrap=True)

    def set_status(self, what: str) -> None:
        """Show beside the spinner what is happening now."""
        if self._status is not None:
            self._status.update(what)

    def show_below(self, renderable: RenderableType) -> None:
        self.console.print(Padding(renderable, (0, 0, 0, 13)))

    @property
    def passed(self) -> bool:
        return bool(self.steps) and all(step.verdict == "ok" for step in self.steps)

    @property
    def seconds(self) -> float:
        return round(sum(step.seconds for step in self.steps), 2)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {
            "mode": self.mode,
            "verdict": "passed" if self.passed else "failed",
            "seconds": self.seconds,
            "set_up_seconds": self.set_up_seconds,
            "steps": [asdict(step) for step in self.steps],
            "left_out": self.left_out,
        }
        path.write_text(json.dumps(document, indent=2) + "\n")

    def show(self) -> None:
        table = Table(title=f"gpuaas demo, {self.mode}", title_justify="left")
        for column, justify in (("step", "left"), ("seconds", "right"), ("verdict", "left"), ("result", "left")):
            table.add_column(column, justify=justify)  # type: ignore[arg-type]
        for step in self.steps:
            colour = "green" if step.verdict == "ok" else "red"
            seen = escape(step.detail)
            table.add_row(step.name, f"{step.seconds:.2f}", f"[{colour}]{step.verdict}[/{colour}]", seen)
        self.console.print()
        self.console.print(table)
