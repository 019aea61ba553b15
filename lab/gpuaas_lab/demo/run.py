"""Chooses the fleet that this machine can run, runs the scenario, and removes everything."""

import argparse
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gpuaas_lab.demo import app
from gpuaas_lab.demo.fleets import demo_fleet, missing_requirements
from gpuaas_lab.demo.instructions import show_instructions_and_wait
from gpuaas_lab.demo.platform import running_platform
from gpuaas_lab.demo.report import Report
from gpuaas_lab.demo.scenario import Scenario
from gpuaas_lab.demo.steps.preparation import prepare_platform
from gpuaas_lab.errors import LabError

LEFT_OUT = "SSH logins and the Slurm cluster, which need real hosts"


def main() -> int:
    parser = argparse.ArgumentParser(prog="gpuaas-demo", description="gpuaas on this machine")
    parser.add_argument("--stay", action="store_true", help="start a cluster and keep it running until Ctrl-C")
    parser.add_argument(
        "--simulated", action="store_true", help="use simulated agents even if this machine can run real hosts"
    )
    arguments = parser.parse_args()
    missing = missing_requirements()
    real = not missing and not arguments.simulated
    report = Report("on real lab hosts" if real else "on a simulated fleet")
    for sentence in missing:
        report.console.print(f"[yellow]Real hosts cannot run here:[/yellow] {sentence}")
    if not real:
        report.left_out.append(LEFT_OUT)
        report.console.print(f"[yellow]The demo uses a simulated fleet. Left out: {LEFT_OUT}.[/yellow]")
    return _run_demo(report, real, arguments.stay)


def _run_demo(report: Report, real: bool, stay: bool) -> int:
    var = Path(os.environ.get("GPUAAS_DATA_DIR", "var")).resolve()
    interrupted = False
    try:
        with _lock_data_dir(var):
            _run_scenario(report, real, stay, var / "demo")
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
    took = f"{report.seconds:.0f} s, plus {report.set_up_seconds:.0f} s of set-up"
    if not report.passed:
        report.console.print(f"Log of the platform and its controllers: {var / 'demo'}", soft_wrap=True)
    for sentence in report.left_out:
        report.console.print(f"Left out here: {sentence}.")
    report.console.print(f"\nDemo {verdict} in {took}. Report: {var / 'demo-report.json'}", soft_wrap=True)
    report.console.print("Next: [bold]make up[/bold] keeps a cluster running and serves the API reference at /docs")
    return 130 if interrupted else 0 if report.passed else 1


@contextmanager
def _lock_data_dir(var: Path) -> Iterator[None]:
    """Prevent two demos from using one data directory: each would delete the other's database."""
    var.mkdir(parents=True, exist_ok=True)
    with (var / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError(f"another demo uses {var}: stop it first, or set GPUAAS_DATA_DIR") from None
        yield


def _run_scenario(report: Report, real: bool, stay: bool, data_dir: Path) -> None:
    slurm = _set_up(report) if real else None
    with ExitStack() as stack:
        with report.step("Start the fleet") as step:
            fleet = stack.enter_context(demo_fleet(real))
            step.detail = fleet.describe()
        with report.step("Start the platform on an embedded PostgreSQL") as step:
            platform = stack.enter_context(running_platform(data_dir, fleet.gateway, app.platform_apps(slurm)))
            step.detail = f"{platform.url}: console and API, first administrator created with a random password"
        context = prepare_platform(platform, fleet, report)
        scenario = Scenario(context, slurm)
        if stay:
            show_instructions_and_wait(context, scenario.start_cluster())
        scenario.run()


def _set_up(report: Report) -> app.App:
    """Fetch and build what a machine needs once; this time is not part of the demo's time."""
    began = time.monotonic()
    made = app.ensure(lambda line: report.console.print(f"[dim]set-up:[/dim] {line}", soft_wrap=True))
    report.set_up_seconds = round(time.monotonic() - began, 2)
    return made
