"""One lab host, as the operator of its hardware sees it: power, console, and commands without a key.

Nothing here trusts the host: `upper` and `slices_dir` read its disk from outside.
"""

import shlex
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from gpuaas_lab import agent_unit, cgroups, container, fabric, image
from gpuaas_lab.commands import execute
from gpuaas_lab.errors import CommandFailed, DeadlinePassed, HostPoweredOff
from gpuaas_lab.layout import HostLayout
from gpuaas_lab.package_layer import PackageLayer

BOOT_TIMEOUT = 180.0  # long, because many hosts may boot on few cores
_KILLED = (-9, 128 + 9)  # `timeout` kills itself too, with the signal that it sends


class Host:
    def __init__(
        self, layout: HostLayout, rootfs: Path, agent_source: Path | None, packages: PackageLayer | None = None
    ) -> None:
        self._layout = layout
        self._rootfs = rootfs
        self._packages = packages
        self._agent_source = agent_source

    def __repr__(self) -> str:
        return f"<Host {self.name} {self.address}>"

    @property
    def name(self) -> str:
        return self._layout.name

    @property
    def address(self) -> str:
        return self._layout.address

    @property
    def gpus(self) -> int:
        return self._layout.fleet.gpus_per_host

    @property
    def slice_addresses(self) -> list[str]:
        return self._layout.slice_addresses

    @property
    def upper(self) -> Path:
        """The host's changes to its root file system, read from outside."""
        return self._layout.upper

    @property
    def slices_dir(self) -> Path:
        """The host's /var/lib/gpuaas/slices, read from outside."""
        return self._layout.slices

    def plain_folder(self, path: str) -> Path:
        """A folder of the host that is not on its overlay, read from outside."""
        return self._layout.plain_folder(path)

    @property
    def console(self) -> str:
        """Return the end of the host's console output."""
        try:
            return self._layout.console.read_text(errors="replace")[-4000:]
        except FileNotFoundError:
            return ""

    @property
    def is_on(self) -> bool:
        return cgroups.leader(self._layout.cgroup) is not None

    def create(self) -> None:
        """Create the host's disk and hardware; it stays off."""
        image.write_layer(self._layout)
        container.mount_root(self._layout, self._rootfs, self._packages)

    def power_on(self) -> None:
        """Boot on the same disk with the same address; `wait_ssh` waits until it is up."""
        if self.is_on:
            return
        # After a power cut no state in memory may remain: no link, no limit.
        cgroups.remove(self._layout.cgroup)
        fabric.detach(self._layout)
        fabric.attach(self._layout)
        container.boot(self._layout, self._rootfs, self._agent_source)

    def power_cut(self, timeout: float = 60.0) -> None:
        """Kill everything of the host, including its slices and the process that would restart it.

        The network is cut first: a host without power sends nothing to its peers.
        """
        fabric.silence(self._layout)
        cgroups.kill_all([self._layout.cgroup])
        deadline = time.monotonic() + timeout / 2
        while cgroups.members(self._layout.cgroup) and time.monotonic() < deadline:
            time.sleep(0.02)
        cgroups.remove(self._layout.cgroup, timeout)
        fabric.detach(self._layout)

    def limit_cpu(self, cores: float) -> None:
        """Limit the host to this share of a core until it is powered on again."""
        cgroups.limit_cpu(self._layout.cgroup, cores)

    def run(
        self,
        argv: Sequence[str],
        check: bool = True,
        timeout: float = 60.0,
        input: str | None = None,  # noqa: A002 - named as in subprocess.run
    ) -> subprocess.CompletedProcess[str]:
        """Run a command inside the host, as root, without going through its sshd."""
        leader = cgroups.leader(self._layout.cgroup)
        if leader is None:
            raise HostPoweredOff(f"{self.name} is off: power it on first")
        command = container.enter_argv(self._layout, leader, list(argv), timeout)
        began = time.monotonic()
        done = execute(command, text=input, check=False, timeout=timeout + 5)
        if done.returncode in _KILLED and time.monotonic() - began >= timeout:
            raise DeadlinePassed(f"{shlex.join(argv)!r} on {self.name} took over {timeout:g} s")
        if check and done.returncode != 0:
            raise CommandFailed(list(argv), done.returncode, done.stdout + done.stderr)
        return subprocess.CompletedProcess(list(argv), done.returncode, stdout=done.stdout, stderr=done.stderr)

    def write_file(self, path: str, text: str, mode: int = 0o644) -> None:
        """Replace a file atomically; it never has a wider mode."""
        target, partial = shlex.quote(path), shlex.quote(f"{path}.partial")
        folder = shlex.quote(str(Path(path).parent))
        script = f"mkdir -p {folder}; umask 077; cat > {partial}; chmod {mode:o} {partial}"
        self.run(["sh", "-ec", f"{script}; mv {partial} {target}"], input=text)

    def read_file(self, path: str) -> str:
        return self.run(["cat", path]).stdout

    def wait_ssh(self, timeout: float = BOOT_TIMEOUT) -> None:
        try:
            wait_for_ssh(self.address, timeout)
        except DeadlinePassed as late:
            raise DeadlinePassed(f"{late}; console of {self.name}: {self.console}") from late

    def start_agent(self, bundle: str, extra: Mapping[str, object] | None = None) -> None:
        """Give the host its one-time bundle and start the node agent, now and at each boot."""
        self.write_file(agent_unit.BUNDLE_PATH, bundle, 0o600)
        settings = agent_unit.settings(self._layout, extra or {})
        self.write_file(agent_unit.SETTINGS_PATH, settings, 0o600)
        self.write_file(agent_unit.UNIT_PATH, agent_unit.UNIT)
        self.run(["systemctl", "daemon-reload"])
        self.run(["systemctl", "--quiet", "enable", agent_unit.UNIT_NAME])
        self.run(["systemctl", "restart", agent_unit.UNIT_NAME])

    def agent_pid(self) -> int | None:
        """Return the pid of the agent's main process inside the host."""
        shown = self._run_beside_wipe(["systemctl", "show", "-P", "MainPID", agent_unit.UNIT_NAME])
        return int(shown) or None

    def kill_agent(self) -> None:
        """Kill the agent's main process with SIGKILL; systemd restarts it."""
        pid = self.agent_pid()
        if pid is not None:
            self._run_beside_wipe(["kill", "-KILL", str(pid)], check=False)

    def _run_beside_wipe(self, argv: list[str], check: bool = True) -> str:
        """Run a command again while it is killed: a wipe ends what it does not know, and so also what the lab runs there."""
        deadline = time.monotonic() + 10
        while (done := self.run(argv, check=False)).returncode in _KILLED and time.monotonic() < deadline:
            time.sleep(0.01)
        if check and done.returncode != 0:
            raise CommandFailed(argv, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def agent_log(self, lines: int = 50) -> str:
        argv = ["journalctl", "--unit", agent_unit.UNIT_NAME, "--output=cat", "--no-pager", f"--lines={lines}"]
        return self.run(argv).stdout


def wait_for_ssh(address: str, timeout: float) -> None:
    """Wait until an SSH server greets at this address."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            with socket.create_connection((address, 22), timeout=1.0) as connection:
                connection.settimeout(2.0)
                if connection.recv(4) == b"SSH-":
                    return
        except OSError:
            pass
        time.sleep(0.03)
    raise DeadlinePassed(f"no SSH server at {address} within {timeout:g} s")
