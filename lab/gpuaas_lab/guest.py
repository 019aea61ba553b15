"""A virtual machine of QEMU without hardware acceleration, which reads its user-data from a NoCloud seed.

It has a kernel of its own, so it shows what a lab host, which is a container, cannot. Its network is QEMU's own: no link and
no address of this machine belongs to it, and its process ends with its owner.
"""

import json
import re
import shlex
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from gpuaas_lab.built_folder import Progress
from gpuaas_lab.commands import ENVIRONMENT, execute
from gpuaas_lab.errors import CommandFailed, DeadlinePassed, HostPoweredOff
from gpuaas_lab.files import remove_folder
from gpuaas_lab.guest_disk import GuestDisk

BOOT_TIMEOUT = 900.0  # an emulated processor, on a machine that has other work
COMMAND_TIMEOUT = 180.0
SSH_PORT = 22
_MAC = "52:54:00:77:00:01"
_PROGRESS_EVERY = 20.0
# cloud-init finds the interface by its MAC address: the kernel's names of interfaces change with the virtual buses.
_NETWORK = {
    "version": 2,
    "ethernets": {
        "uplink": {"match": {"macaddress": _MAC}, "addresses": ["10.0.2.15/24"], "gateway4": "10.0.2.2", "dhcp4": False}
    },
}


@dataclass(frozen=True)
class Seed:
    """Holds what a cloud gives a new machine: the tenant's `user_data`, and `prepare`, commands of the cloud itself that run
    early in each boot.
    """

    user_data: str
    prepare: Sequence[Sequence[str]] = ()

    def write(self, folder: Path, public_key: str) -> None:
        vendor = {
            "disable_root": False,
            "ssh_authorized_keys": [public_key],
            "ssh_genkeytypes": ["ed25519"],
            "locale": "C.UTF-8",
            "bootcmd": [list(command) for command in self.prepare],
        }
        folder.mkdir()
        (folder / "user-data").write_text(self.user_data)
        (folder / "vendor-data").write_text(f"#cloud-config\n{json.dumps(vendor)}\n")
        (folder / "meta-data").write_text(json.dumps({"instance-id": uuid.uuid4().hex, "local-hostname": "guest"}))
        (folder / "network-config").write_text(json.dumps(_NETWORK))


class Guest:
    """`ports` are those of this machine's 127.0.0.1 by the guest's; 22 must be among them. `disks` follow its own disk,
    and it can only read them. Everything is below `folder`, which goes with the guest.
    """

    def __init__(
        self,
        folder: Path,
        made: GuestDisk,
        seed: Seed,
        ports: Mapping[int, int],
        disks: Sequence[Path] = (),
        progress: Progress = print,
    ) -> None:
        self._folder, self._made, self._seed, self._disks = folder, made, seed, disks
        self._progress = progress
        self._process: subprocess.Popen[bytes] | None = None
        self.ports = dict(ports)

    def __enter__(self) -> "Guest":
        self._folder.mkdir(parents=True)
        execute(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "lab", "-f", str(self._key)])
        self._seed.write(self._folder / "seed", self._key.with_suffix(".pub").read_text().strip())
        backing = ["-b", str(self._made.disk), "-F", "raw"]
        execute(["qemu-img", "create", "-q", "-f", "qcow2", *backing, str(self._folder / "disk.qcow2")])
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.power_cut()
        remove_folder(self._folder)

    @property
    def pid(self) -> int | None:
        """The process of the virtual machine, while it is on."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    @property
    def console(self) -> str:
        """Return the end of the guest's console output."""
        try:
            return (self._folder / "console.log").read_text(errors="replace")[-4000:]
        except FileNotFoundError:
            return ""

    def power_on(self) -> None:
        """Boot; `wait_ssh` waits until it is up."""
        with (self._folder / "qemu.log").open("ab") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *self._command()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=ENVIRONMENT,
            )

    def power_cut(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(60)
            self._process = None

    def power_off(self) -> None:
        """Let the guest shut down, and wait until it is off."""
        self.run(["systemctl", "poweroff"], check=False)
        self._await(lambda: self.pid is None, "the guest to shut down")

    def wait_ssh(self) -> None:
        self._await(self._answers, "the guest's SSH server")

    def run(
        self, argv: Sequence[str], check: bool = True, timeout: float = COMMAND_TIMEOUT
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the guest as root."""
        done = execute([*self._ssh(), shlex.join(argv)], check=False, timeout=timeout)
        if check and done.returncode != 0:
            raise CommandFailed(list(argv), done.returncode, done.stdout + done.stderr)
        return done

    @property
    def _key(self) -> Path:
        return self._folder / "key"

    def _ssh(self) -> list[str]:
        options = ("BatchMode=yes", "StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "LogLevel=ERROR")
        words = [f"-o{option}" for option in (*options, "ConnectTimeout=60", "ControlPath=none")]
        return ["ssh", "-F", "none", "-i", str(self._key), *words, "-p", str(self.ports[SSH_PORT]), "root@127.0.0.1"]

    def _answers(self) -> bool:
        """Tell whether somebody can log in."""
        try:
            with socket.create_connection(("127.0.0.1", self.ports[SSH_PORT]), timeout=5) as connection:
                if connection.recv(4) != b"SSH-":
                    return False
            return self.run(["true"], check=False).returncode == 0
        except (OSError, DeadlinePassed):
            return False

    def _await(self, done: Callable[[], bool], what: str) -> None:
        began = told = time.monotonic()
        while not done():
            now = time.monotonic()
            if self.pid is None and not done():
                said = (self._folder / "qemu.log").read_text(errors="replace")[-1000:]
                raise HostPoweredOff(f"the guest is off: {said} {self.console}")
            if now - began > BOOT_TIMEOUT:
                raise DeadlinePassed(f"waited {BOOT_TIMEOUT:g} s for {what}; its console: {self.console}")
            if now - told >= _PROGRESS_EVERY:
                told = now
                self._progress(f"{now - began:4.0f} s  waiting for {what}: {self._last_line()}")
            time.sleep(0.5)
        self._progress(f"{time.monotonic() - began:4.0f} s  for {what}")

    def _last_line(self) -> str:
        """Return what the console showed last, without colours."""
        lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", self.console).split("\n")
        return next((line.strip()[:90] for line in reversed(lines) if line.strip()), "")

    def _command(self) -> list[str]:
        forwards = "".join(f",hostfwd=tcp:127.0.0.1:{here}-:{there}" for there, here in self.ports.items())
        argv = ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "qemu64,-svm"]
        argv += ["-smp", "2", "-m", "1024", "-nodefaults", "-no-reboot", "-display", "none", "-monitor", "none"]
        argv += ["-serial", f"file:{self._folder / 'console.log'}"]
        argv += ["-kernel", str(self._made.kernel), "-initrd", str(self._made.initial_files)]
        argv += ["-append", "root=/dev/vda rw console=ttyS0 mitigations=off"]
        argv += ["-drive", f"file={self._folder / 'disk.qcow2'},if=virtio,format=qcow2"]
        for disk in self._disks:
            argv += ["-drive", f"file={disk},if=virtio,format=raw,readonly=on"]
        argv += ["-drive", f"driver=vvfat,dir={self._folder / 'seed'},label=CIDATA,if=virtio,read-only=on"]
        argv += ["-netdev", f"user,id=uplink,restrict=on{forwards}"]
        return [*argv, "-device", f"virtio-net-pci,netdev=uplink,mac={_MAC},romfile="]
