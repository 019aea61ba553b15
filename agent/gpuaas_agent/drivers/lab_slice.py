"""One slice on a lab host: a booted container over an overlay, with an address of its own.

`layer/` holds what the platform wrote, `upper/` what the tenant changed. The agent never writes through the tenant's view
of the file system, because a link there could lead out into the host.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import ipaddress
import json
import os
import shutil
import signal
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpuaas_agent import commands
from gpuaas_agent.commands import Deadline
from gpuaas_agent.config import Config
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import accounts, cgroups, mounts, sshd
from gpuaas_agent.host.processes import snapshot
from gpuaas_agent.specs import ProvisionSpec

TENANT_UID = 1000
_CLONE_NEWNET = 0x40000000
_ACCOUNTS = {
    "passwd": "{user}:x:{uid}:{uid}::/home/{user}:/bin/bash\n",
    "shadow": "{user}:*:19000:0:99999:7:::\n",
    "group": "{user}:x:{uid}:\n",
    "gshadow": "{user}:!::\n",
}


@dataclass(frozen=True)
class LabSlice:
    config: Config
    allocation_id: str
    address: ipaddress.IPv4Interface

    @property
    def name(self) -> str:
        return "sl-" + hashlib.sha256(self.allocation_id.encode()).hexdigest()[:10]

    @property
    def unit(self) -> str:
        return f"gpuaas-slice-{self.name}.service"

    @property
    def folder(self) -> Path:
        return self.config.slice_dir / self.name

    @property
    def layer(self) -> Path:
        return self.folder / "layer"

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def ssh(self) -> sshd.SshFiles:
        return sshd.SshFiles(self.layer)

    def write_layer(self, spec: ProvisionSpec) -> None:
        for part in ("upper", "work", "root"):
            (self.folder / part).mkdir(parents=True, exist_ok=True)
        self._write("etc/hostname", f"{spec.hostname}\n")
        hosts = f"127.0.0.1 localhost\n{self.address.ip} {spec.hostname}\n"
        self._write("etc/hosts", hosts)
        if not (self.layer / "etc/machine-id").exists():
            self._write("etc/machine-id", uuid.uuid4().hex + "\n", 0o444)
        self._write_account(spec.access.login_user)
        self._folder("etc/ssh/sshd_config.d")
        self.ssh.install()
        gpus = [{"slot_index": slot.slot_index, "pci_address": slot.pci_address} for slot in spec.slots]
        described = {"allocation_id": self.allocation_id, "gpus": gpus}
        self._write("etc/gpuaas/slice.json", json.dumps(described, indent=2) + "\n")

    def _write_account(self, user: str) -> None:
        for name, line in _ACCOUNTS.items():
            base = self.config.slice_base / "etc" / name
            mode = base.stat().st_mode & 0o7777
            text = base.read_text() + line.format(user=user, uid=TENANT_UID)
            self._write(f"etc/{name}", text, mode, base.stat().st_gid)
        self._write("etc/sudoers.d/gpuaas", accounts.sudoers_text(user), 0o440)
        home = self._folder("home") / user
        if not home.exists():
            skeleton = self.config.slice_base / "etc/skel"
            shutil.copytree(skeleton, home, symlinks=True)
            home.chmod(0o755)
            for path in (home, *home.rglob("*")):
                os.chown(path, TENANT_UID, TENANT_UID, follow_symlinks=False)

    def _folder(self, relative: str) -> Path:
        """Create a folder in the layer with the owner and mode of the base's folder, which it hides."""
        path, twin = self.layer, self.config.slice_base
        self.layer.mkdir(exist_ok=True)
        for part in Path(relative).parts:
            path, twin = path / part, twin / part
            if not path.exists():
                path.mkdir()
                if twin.is_dir():
                    shutil.copystat(twin, path)
        return path

    def _write(self, relative: str, text: str, mode: int = 0o644, gid: int = 0) -> None:
        path = self.layer / relative
        self._folder(str(Path(relative).parent))
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_text(text)
        os.chown(fresh, 0, gid)
        fresh.chmod(mode)
        os.replace(fresh, path)

    def is_mounted(self) -> bool:
        return any(mount.point == str(self.root) for mount in mounts.table())

    def mount(self, deadline: Deadline) -> bool:
        """Mount the root. Returns True if it was not mounted before, so that no tenant can be inside."""
        if self.is_mounted():
            return False
        lower = f"lowerdir={self.layer}:{self.config.slice_base}"
        options = f"{lower},upperdir={self.folder}/upper,workdir={self.folder}/work"
        commands.run(
            ["mount", "-t", "overlay", f"gpuaas-{self.name}", "-o", options, str(self.root)],
            deadline,
        )
        return True

    def connect(self, deadline: Deadline) -> None:
        """Create a network namespace with the address; an incomplete one is created again."""
        if Path(f"/run/netns/{self.name}").exists():
            if self.is_running(deadline):
                return
            commands.run(["ip", "netns", "del", self.name], deadline)
        commands.run(["ip", "netns", "add", self.name], deadline)
        octets = self.address.ip.packed
        # A fixed link address: otherwise neighbours keep a stale ARP entry when the address is reused.
        link_address = f"02:77:00:00:{octets[2]:02x}:{octets[3]:02x}"
        # Create it under the slice's name first: Debian 12's kernel requires a name that is also free on the host.
        link = f"link add link {self.config.slice_parent_interface} name {self.name} address {link_address}"
        link += f" netns {self.name} type macvlan mode private\n"
        commands.run(["ip", "-batch", "-"], deadline, stdin=link.encode())
        gateway = self.config.slice_gateway or str(self.address.network.broadcast_address - 1)
        script = f"link set {self.name} name eth0\nlink set lo up\naddr add {self.address} dev eth0\n"
        script += f"link set eth0 up\nroute add default via {gateway}\n"
        commands.run(["ip", "-n", self.name, "-batch", "-"], deadline, stdin=script.encode())

    def is_running(self, deadline: Deadline) -> bool:
        state = commands.attempt(["systemctl", "is-active", self.unit], deadline)
        return state.stdout.strip() in (b"active", b"activating")

    def boot(self, deadline: Deadline) -> str:
        """Boot the container as a separate unit, so that it outlives the agent and can be found again."""
        if self.is_running(deadline):
            return "was running"
        commands.attempt(["systemctl", "reset-failed", self.unit], deadline)
        unified = int(cgroups.is_unified())
        commands.run(
            ["systemd-run", "--quiet", "--collect", f"--unit={self.unit}"]
            + ["--property=KillMode=mixed", "--property=Delegate=yes"]
            + ["--property=TimeoutStopSec=3", f"--setenv=SYSTEMD_NSPAWN_UNIFIED_HIERARCHY={unified}"]
            + ["--setenv=SYSTEMD_NSPAWN_API_VFS_WRITABLE=network"]
            + ["/usr/bin/nsenter", f"--net=/run/netns/{self.name}", "/usr/bin/systemd-nspawn"]
            + ["--quiet", "--register=no", "--keep-unit", "-D", str(self.root), "-M", self.name]
            + ["--boot", "--drop-capability=CAP_MKNOD", "--resolv-conf=off", "--timezone=off"]
            + ["--console=pipe", f"--bind-ro={self.layer}/etc/gpuaas:/etc/gpuaas"]
            + [f"--bind={device}" for device in self.devices()],
            deadline,
        )
        return "booted"

    def devices(self) -> list[str]:
        """Return the device nodes of the slice's GPUs that exist on this host."""
        described = json.loads((self.layer / "etc/gpuaas/slice.json").read_text())
        nodes = [f"/dev/nvidia{int(gpu['slot_index'])}" for gpu in described["gpus"]]
        return [node for node in nodes if os.path.exists(node)]

    def wait_ready(self, deadline: Deadline) -> str:
        """Wait until sshd answers. It connects from inside the slice's namespace: macvlan blocks the host itself."""
        found: list[str | Exception] = []

        def look() -> None:
            try:
                with self.network():
                    found.append(sshd.wait_until_answering(str(self.address.ip), 22, deadline))
            except Exception as problem:
                found.append(problem)

        thread = threading.Thread(target=look)  # only this thread enters the namespace
        thread.start()
        thread.join()
        if isinstance(found[0], Exception):
            raise found[0]
        return found[0]

    @contextlib.contextmanager
    def network(self) -> Iterator[None]:
        """Move the calling thread into the slice's network, and back: a thread that stayed would keep it alive."""
        _enter_network(f"/run/netns/{self.name}")
        try:
            yield
        finally:
            _enter_network("/proc/self/ns/net")  # of the process: the host's

    def reload_ssh(self) -> None:
        """Make the slice's sshd reload its files; sessions stay open. Its network namespace identifies the process."""
        network = os.stat(f"/run/netns/{self.name}").st_ino
        for process in snapshot():
            if process.name == "sshd" and "[listener]" in process.command:
                with contextlib.suppress(OSError):
                    if os.stat(f"/proc/{process.pid}/ns/net").st_ino == network:
                        os.kill(process.pid, signal.SIGHUP)

    def halt(self, deadline: Deadline) -> None:
        commands.attempt(["systemctl", "stop", self.unit], deadline)
        if self.is_running(deadline):
            commands.run(["systemctl", "kill", "--signal=KILL", self.unit], deadline)
        if self.is_mounted():
            mounts.unmount(str(self.root), deadline)
        if Path(f"/run/netns/{self.name}").exists():
            commands.run(["ip", "netns", "del", self.name], deadline)

    def delete(self) -> int:
        if self.is_mounted():
            raise TaskFailure(
                "slice_still_mounted",
                f"{self.root} is still mounted",
                "Run deprovision for this allocation first.",
                retryable=True,
            )
        count = sum(len(folders) + len(names) for _, folders, names in os.walk(self.folder))
        if self.folder.exists():
            shutil.rmtree(self.folder)
        return count


def _enter_network(path: str) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if library.setns(descriptor, _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns", path)
    finally:
        os.close(descriptor)
