"""`make demo` and `make up`: choose the fleet this machine can run, tell the story, leave nothing behind."""

import argparse
import fcntl
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from gpuaas_lab.demo.fleets import demo_fleet, what_is_missing
from gpuaas_lab.demo.platform import RunningPlatform, running_platform
from gpuaas_lab.demo.report import Report
from gpuaas_lab.demo.story import Story
from gpuaas_lab.errors import LabError


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
        report.console.print(
            "[yellow]The same story runs on the simulated fleet; there is no SSH login in it.[/yellow]"
        )
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
    report.console.print(f"\nDemo {verdict}. Report: {var / 'demo-report.json'}")
    report.console.print("Stay with it: [bold]make up[/bold] serves the API reference at http://127.0.0.1:8080/docs")
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


def _play(report: Report, real: bool, stay: bool, data_dir: Path) -> None:
    with report.step("Start the fleet") as step:
        context = demo_fleet(real)
        fleet = context.__enter__()
        step.detail = fleet.describe()
    try:
        with report.step("Start the platform on an embedded PostgreSQL") as step:
            starting = running_platform(data_dir, fleet.gateway)
            platform = starting.__enter__()
            step.detail = f"{platform.url}, first administrator made with a random password"
        try:
            story = Story.begin(platform, fleet, report)
            story.prepare()
            if stay:
                _stay(report, platform)
            else:
                story.run()
        finally:
            starting.__exit__(None, None, None)
    finally:
        context.__exit__(None, None, None)


def _stay(report: Report, platform: RunningPlatform) -> None:
    def say(line: str) -> None:
        report.console.print(line, soft_wrap=True)  # a command that wraps cannot be copied

    say("\n[bold]gpuaas is up[/bold] (Ctrl-C ends it and removes everything)")
    say(f"  API            {platform.url}/api/v1   reference {platform.url}/docs")
    say(f"  administrator  {platform.admin_email}   password {platform.admin_password}   (shown once)")
    say(f"  sign in        .venv/bin/gpuaas --server {platform.url} login {platform.admin_email}")
    say("  then           .venv/bin/gpuaas allocations create --project training --sku h100-slice --gpus 2 --watch")
    say(f"  log            {platform.log_file}")
    while True:
        signal.pause()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    try:
        sys.exit(main())
    except LabError as error:
        print(f"gpuaas demo: {error}", file=sys.stderr)
        sys.exit(1)
