"""What the cluster is for: the commands that its users know, typed on its login host over SSH."""

import shlex

from gpuaas_lab.demo.cast import Cast
from gpuaas_lab.demo.scenes.cluster import Cluster
from gpuaas_lab.errors import LabError

BATCH = "sbatch --wait -N2 -o batch.txt --wrap 'srun hostname' && cat batch.txt"


def run(cast: Cast, cluster: Cluster) -> None:
    with cast.report.step("sinfo, srun -N2, sbatch, srun --gres=gpu:2") as step:
        terminal = Terminal(cast, cluster)
        nodes = {str((one.adapter_detail or {}).get("node")) for one in cluster.workers()}
        if not nodes <= set(terminal.types("sinfo -N").split()):
            raise LabError(f"sinfo does not know {nodes}")
        hosts = set(terminal.types("srun -N2 hostname").split())
        if len(hosts) != 2:
            raise LabError(f"srun -N2 ran on {hosts}")
        submitted, *result = terminal.types(BATCH).splitlines()
        if set(result) != hosts:
            raise LabError(f"the batch job ran on {result}")
        devices = terminal.types("srun --gres=gpu:2 printenv CUDA_VISIBLE_DEVICES")
        if len(devices.split(",")) != 2:
            raise LabError(f"a job that asked for two GPUs got {devices!r}")
        step.detail = f"ran on {' and '.join(sorted(hosts))}; {submitted.lower()}; GPUs {devices}"


class Terminal:
    """A login user's, by the way in that the access bundle tells."""

    def __init__(self, cast: Cast, cluster: Cluster) -> None:
        self._cast = cast
        self._host = cluster.rooms.head
        login = (cluster.now(cast).access_bundle or {}).get("login")
        if not isinstance(login, dict):
            raise LabError("the access bundle says nothing about logging in")
        self._become = str(login["become"])

    def types(self, command: str) -> str:
        self._cast.report.say(f"[bold]$ {command}[/bold]")
        said = self._cast.said(self._host, f"{self._become} bash -c {shlex.quote(command)}")
        for line in said.splitlines():
            self._cast.report.say(f"  {line}")
        return said
