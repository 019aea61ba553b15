"""What the demo tells: a line a step while it runs, a table at the end, and var/demo-report.json."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.console import Console
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

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Time a step; set `detail` for what was seen. An exception is the verdict `failed`, and goes on up."""
        step = Step(name)
        self.steps.append(step)
        self.console.print(f"[bold]›[/bold] {name} …")
        started = time.monotonic()
        try:
            yield step
            step.verdict = "ok"
        except BaseException as error:
            step.detail = step.detail or f"{type(error).__name__}: {error}"[:300]
            raise
        finally:
            step.seconds = round(time.monotonic() - started, 2)
            mark = "[green]✔[/green]" if step.verdict == "ok" else "[red]✘[/red]"
            self.console.print(f"  {mark} {step.seconds:6.2f} s  {step.detail}")

    @property
    def passed(self) -> bool:
        return bool(self.steps) and all(step.verdict == "ok" for step in self.steps)

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        total = round(sum(step.seconds for step in self.steps), 2)
        document = {
            "mode": self.mode,
            "verdict": "passed" if self.passed else "failed",
            "seconds": total,
            "steps": [asdict(step) for step in self.steps],
        }
        path.write_text(json.dumps(document, indent=2) + "\n")

    def show(self) -> None:
        table = Table(title=f"gpuaas demo, {self.mode}", title_justify="left")
        for column, justify in (("step", "left"), ("seconds", "right"), ("verdict", "left"), ("what was seen", "left")):
            table.add_column(column, justify=justify)  # type: ignore[arg-type]
        for step in self.steps:
            colour = "green" if step.verdict == "ok" else "red"
            table.add_row(step.name, f"{step.seconds:.2f}", f"[{colour}]{step.verdict}[/{colour}]", step.detail)
        self.console.print()
        self.console.print(table)
