"""Runs the commands that users of a cluster know, on its login host over SSH."""

import shlex

from gpuaas_lab.demo.context import DemoContext
from gpuaas_lab.demo.steps.cluster import Cluster
from gpuaas_lab.errors import LabError

BATCH = "sbatch --wait -N2 -o batch.txt --wrap 'srun hostname' && cat batch.txt"


def run(context: DemoContext, cluster: Cluster) -> None:
    with context.report.step("sinfo, srun -N2, sbatch, srun --gres=gpu:2") as step:
        terminal = Terminal(context, cluster)
        nodes = {str((one.adapter_detail or {}).get("node")) for one in cluster.workers()}
        if not nodes <= set(terminal.run("sinfo -N").split()):
            raise LabError(f"sinfo does not know {nodes}")
        hosts = set(terminal.run("srun -N2 hostname").split())
        if len(hosts) != 2:
            raise LabError(f"srun -N2 ran on {hosts}")
        submitted, *result = terminal.run(BATCH).splitlines()
        if set(result) != hosts:
            raise LabError(f"the batch job ran on {result}")
        devices = terminal.run("srun --gres=gpu:2 printenv CUDA_VISIBLE_DEVICES")
        if len(devices.split(",")) != 2:
            raise LabError(f"a job that asked for two GPUs got {devices!r}")
        step.detail = f"ran on {' and '.join(sorted(hosts))}; {submitted.lower()}; GPUs {devices}"


class Terminal:
    """A login user's terminal, opened by the login command in the access bundle."""

    def __init__(self, context: DemoContext, cluster: Cluster) -> None:
        self._context = context
        self._host = cluster.allocations.head
        login = (cluster.now(context).access_bundle or {}).get("login")
        if not isinstance(login, dict):
            raise LabError("the access bundle has no login command")
        self._become = str(login["become"])

    def run(self, command: str) -> str:
        self._context.report.print_line(f"[bold]$ {command}[/bold]")
        output = self._context.run_over_ssh(self._host, f"{self._become} bash -c {shlex.quote(command)}")
        for line in output.splitlines():
            self._context.report.print_line(f"  {line}")
        return output
