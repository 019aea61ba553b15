"""The main job, scene by scene, through the public API and the `gpuaas` command. Each scene is a file in scenes/."""

from contextlib import ExitStack
from dataclasses import dataclass

from gpuaas_lab.demo.app import App
from gpuaas_lab.demo.cast import Cast
from gpuaas_lab.demo.controller import running_controller
from gpuaas_lab.demo.following import Follower
from gpuaas_lab.demo.scenes import cluster, farewell, jobs, looking_back, publishing, rooms
from gpuaas_lab.demo.scenes.cluster import Cluster
from gpuaas_lab.demo.scenes.rooms import Rooms


@dataclass(frozen=True)
class Story:
    """`app` is there where real hosts are: on simulated ones nothing can be installed."""

    cast: Cast
    app: App | None

    def run(self) -> None:
        """From allocations to a cluster, and back to hosts that were found clean."""
        taken = rooms.taken(self.cast)
        if self.app is not None:
            rooms.logged_in(self.cast, taken)
            with ExitStack() as processes:
                made = self._cluster(self.app, taken, processes)
                jobs.run(self.cast, made)
                farewell.shrunk(self.cast, made)
                farewell.gone(self.cast, made)
        rooms.given_back(self.cast, taken)
        if self.app is not None:
            rooms.nothing_is_left(self.cast, taken)
        looking_back.looked_back(self.cast)

    def stand(self, processes: ExitStack) -> Cluster | None:
        """As far as a running cluster, for who wants to go on alone. The controller runs until `processes` is closed."""
        if self.app is None:
            return None
        return self._cluster(self.app, rooms.taken(self.cast, with_slice=False), processes)

    def _cluster(self, app: App, taken: Rooms, processes: ExitStack) -> Cluster:
        publishing.published(self.cast, app)
        with self.cast.report.step("Start Slurm's controller, a program of its own") as step:
            controller = processes.enter_context(running_controller(self.cast))
            step.detail = (
                f"process {controller.process.pid}; its service account may control this app here, and nothing else"
            )
        made = cluster.deployed(self.cast, taken, Follower(self.cast, controller))
        cluster.grown(self.cast, made)
        return made
