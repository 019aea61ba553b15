"""`make demo` and `make up`: choose the fleet this machine can run, tell the story, leave nothing behind."""

import argparse
import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType

from gpuaas_lab.demo import app
from gpuaas_lab.demo.fleets import demo_fleet, what_is_missing
from gpuaas_lab.demo.platform import running_platform
from gpuaas_lab.demo.report import Report
from gpuaas_lab.demo.scenes.ground import prepared
from gpuaas_lab.demo.staying import stay
from gpuaas_lab.demo.story import Story
from gpuaas_lab.errors import LabError

LEFT_OUT = "SSH logins and the Slurm cluster: they need real hosts"


def main() -> int:
    parser = argparse.ArgumentParser(prog="gpuaas-demo", description="gpuaas on this machine")
    parser.add_argument("--stay", action="store_true", help="prepare everything, then stay up until Ctrl-C")
    parser.add_argument("--simulated", action="store_true", help="use simulated agents even where real hosts could run")
    arguments = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT):  # SIGINT too: a shell starts background jobs with it ignored
        signal.signal(number, _interrupt)
    missing = what_is_missing()
    real = not missing and not arguments.simulated
    report = Report("on real lab hosts" if real else "on a simulated fleet")
    for sentence in missing:
        report.console.print(f"[yellow]no real hosts:[/yellow] {sentence}")
    if not real:
        report.left_out.append(LEFT_OUT)
        report.console.print(f"[yellow]The story runs on the simulated fleet, without {LEFT_OUT}.[/yellow]")
    return _tell(report, real, arguments.stay)


def _tell(report: Report, real: bool, stay: bool) -> int:
    var = Path(os.environ.get("GPUAAS_DATA_DIR", "var")).resolve()
    interrupted = False
    try:
        with _alone(var):
            _play(report, real, stay, var / "demo")
    except KeyboardInterrupt:
        interrupted = True
    except Exception as error:
        report.console.print(f"[red]{type(error).__name__}: {error}[/red]")
    if stay and (interrupted or report.passed):
        report.console.print("Everything is stopped and removed.")
        return 0
    report.write(var / "demo-report.json")
    report.show()
    verdict = "interrupted" if interrupted else "passed" if report.passed else "FAILED"
    took = f"{report.seconds:.0f} s, set-up not counted ({report.set_up_seconds:.0f} s)"
    if not report.passed:
        report.console.print(f"Logs of the platform and of the controller: {var / 'demo'}", soft_wrap=True)
    for sentence in report.left_out:
        report.console.print(f"Left out here: {sentence}.")
    report.console.print(f"\nDemo {verdict} in {took}. Report: {var / 'demo-report.json'}", soft_wrap=True)
    report.console.print(
        "Stay with it: [bold]make up[/bold] leaves a cluster running, and serves the API reference at /docs"
    )
    return 130 if interrupted else 0 if report.passed else 1


@contextmanager
def _alone(var: Path) -> Iterator[None]:
    """Two demos on one data directory would take each other's database away."""
    var.mkdir(parents=True, exist_ok=True)
    with (var / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError(f"another demo runs on {var}: end it first, or set GPUAAS_DATA_DIR") from None
        yield


def _play(report: Report, real: bool, staying: bool, data_dir: Path) -> None:
    slurm = _set_up(report) if real else None
    with ExitStack() as stack:
        with report.step("Start the fleet") as step:
            fleet = stack.enter_context(demo_fleet(real))
            step.detail = fleet.describe()
        with report.step("Start the platform on an embedded PostgreSQL") as step:
            platform = stack.enter_context(running_platform(data_dir, fleet.gateway))
            step.detail = f"{platform.url}: console and API, first administrator made with a random password"
        cast = prepared(platform, fleet, report)
        story = Story(cast, slurm)
        if staying:
            stay(cast, story.stand(stack))
        story.run()


def _set_up(report: Report) -> app.App:
    """What is fetched and built once for a machine, before the clock of the story runs."""
    began = time.monotonic()
    made = app.ensure(lambda line: report.console.print(f"[dim]set-up:[/dim] {line}", soft_wrap=True))
    report.set_up_seconds = round(time.monotonic() - began, 2)
    return made


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as error:
        print(f"gpuaas demo: {error}", file=sys.stderr)
        sys.exit(1)
