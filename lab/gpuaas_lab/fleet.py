"""A fleet: hosts on a separate network, for the duration of a `with` block.

with Fleet(name="demo", hosts=4) as fleet:
    fleet.hosts[0].run(["uname", "-a"])
"""

import atexit
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType

from gpuaas_lab import caches, cleanup, fabric, records, rootfs
from gpuaas_lab.built_folder import Progress
from gpuaas_lab.errors import FleetExists, FleetNotFound, LabError, RequirementMissing
from gpuaas_lab.files import locked
from gpuaas_lab.host import Host
from gpuaas_lab.layout import FIRST_NUMBER, FleetLayout
from gpuaas_lab.package_layer import PackageLayer
from gpuaas_lab.records import LOCK, LOCK_TIMEOUT, FleetRecord
from gpuaas_lab.requirements import missing_requirements

REPOSITORY = Path(__file__).resolve().parents[2]


def _say(line: str) -> None:
    print(f"[lab] {line}", file=sys.stderr, flush=True)


def _default_agent_source() -> Path | None:
    folder = REPOSITORY / "agent"
    return folder if (folder / "gpuaas_agent").is_dir() else None


class Fleet:
    def __init__(
        self,
        name: str = "lab",
        hosts: int = 4,
        gpus_per_host: int = 8,
        *,
        agent_source: Path | None = None,
        layer: PackageLayer | None = None,
        progress: Progress = _say,
    ) -> None:
        # The number is known only after the reservation; everything else is checked now.
        self._wanted = FleetLayout(name, FIRST_NUMBER, hosts, gpus_per_host)
        self._agent_source = agent_source or _default_agent_source()
        self._layer = layer
        self._progress = progress
        self._record: FleetRecord | None = None
        self._previous_handler: signal.Handlers | None = None
        self.hosts: list[Host] = []

    @staticmethod
    def requirements() -> list[str]:
        """Return what this machine lacks to run lab hosts; empty if nothing."""
        return missing_requirements()

    @classmethod
    def open(cls, name: str) -> "Fleet":
        """Open a running fleet. Do not close it; `gpuaas-lab down` does."""
        record = records.load(name)
        image = rootfs.cached()
        if record is None or not record.is_alive or image is None:
            raise FleetNotFound(f"no fleet {name} is running: start it with `gpuaas-lab up`")
        fleet = cls(record.name, record.hosts, record.gpus_per_host)
        fleet._record = record
        fleet._make_hosts(image)  # their disks are already mounted
        return fleet

    @property
    def name(self) -> str:
        return self._wanted.name

    @property
    def number(self) -> int:
        return self._layout.number

    @property
    def gateway(self) -> str:
        """The address of this machine at which hosts reach the platform."""
        return self._layout.gateway

    @property
    def _layout(self) -> FleetLayout:
        if self._record is None:
            raise LabError(f"fleet {self.name} is not running")
        return self._record.layout

    def __enter__(self) -> "Fleet":
        self._catch_termination()
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def start(self) -> None:
        """Boot the hosts and wait until each answers. Caller must call `close`."""
        if missing := self.requirements():
            raise RequirementMissing(missing)
        atexit.register(self.close)
        self._reserve()
        image = rootfs.ensure(self._progress)
        if self._layer is not None:
            self._layer.ensure(self._progress)
        fabric.create_bridge(self._layout)
        self._make_hosts(image)
        with ThreadPoolExecutor(max_workers=len(self.hosts)) as pool:
            list(pool.map(_create_and_boot, self.hosts))
            list(pool.map(Host.wait_ssh, self.hosts))
        for folder in caches.prune():
            self._progress(f"removed {folder}, of an earlier recipe")

    def detach(self) -> None:
        """Keep the fleet running after this process; `gpuaas-lab down` stops it."""
        if self._record is not None:
            records.note_checkout(self._layout, REPOSITORY)
            self._record = self._record.without_owner()
            self._record.save()
        atexit.unregister(self.close)

    def close(self) -> None:
        """Remove everything of this fleet; a second call does nothing."""
        with _undisturbed():
            if self._record is not None and self._record.is_mine:
                cleanup.destroy(self._record)
            self._record = None
            self.hosts = []
        atexit.unregister(self.close)
        self._release_termination()

    def _reserve(self) -> None:
        with locked(LOCK, LOCK_TIMEOUT, "another lab command"):
            for removed in cleanup.sweep():
                self._progress(f"removed what a dead owner left: {removed}")
            if records.load(self.name) is not None:
                raise FleetExists(
                    f"fleet {self.name} is running: use it, end it with"
                    f" `gpuaas-lab down --name {self.name}`, or choose another name"
                )
            wanted = self._wanted
            number = cleanup.free_number()
            layout = FleetLayout(wanted.name, number, wanted.host_count, wanted.gpus_per_host)
            record = FleetRecord.of_this_process(layout)
            # In this order: a lock without a record is harmless.
            self._record = record
            record.save()
            caches.note_use(layout, self._layer)

    def _make_hosts(self, image: Path) -> None:
        self.hosts = [Host(host, image, self._agent_source, self._layer) for host in self._layout.hosts()]

    def _catch_termination(self) -> None:
        """Make SIGTERM end the block like an exception, unless the program has its own handler."""
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, _terminate)
            self._previous_handler = signal.SIG_DFL

    def _release_termination(self) -> None:
        if self._previous_handler is not None:
            signal.signal(signal.SIGTERM, self._previous_handler)
            self._previous_handler = None


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Delay Ctrl-C and SIGTERM until the clean-up has finished."""
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def _terminate(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _create_and_boot(host: Host) -> None:
    host.create()
    host.power_on()
