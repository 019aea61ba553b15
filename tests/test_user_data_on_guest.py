"""The same user-data starts the app on a machine that boots as one of a cloud does: a virtual machine with a NoCloud seed."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gpuaas_lab import guest_disk
from gpuaas_lab.files import mounts_below
from gpuaas_lab.guest import Guest, Seed
from gpuaas_sdk.testing.ports import free_port
from system_support.compose_lab import oci_archive
from system_support.container_lab import PORT, web_image
from system_support.user_data import LOAD_IMAGE, NAMES, container_document, fetch_patiently
from tests_support.parts import part

pytestmark = [pytest.mark.lab, pytest.mark.slow, pytest.mark.timeout(3600)]
HANG = 900.0
# A cloud has put the GPUs and the image there. Device nodes are gone after a boot, an image is not.
PREPARE = (
    ("sh", "-ec", "for number in 0 1; do mknod -m 666 /dev/nvidia$number c 195 $number; done"),
    ("sh", "-ec", f"podman image exists localhost/web:1 || ({LOAD_IMAGE}) < /dev/vdb"),
)


def say(line: str) -> None:
    print(f"[guest] {line}", flush=True)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for the guest. Afterwards, nothing of the guest is on this machine."""
    yield tmp_path / "guest"
    assert not (tmp_path / "guest").exists()
    assert mounts_below(tmp_path) == []
    commands = (_command_line(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdecimal())
    assert [one for one in commands if str(tmp_path) in one and one.startswith("qemu")] == []


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
    except OSError:
        return ""


def taps(pid: int) -> list[str]:
    """Return the interfaces of this machine that a process has opened; one made so lives as long as its process."""
    found = []
    for note in Path(f"/proc/{pid}/fdinfo").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found += [line for line in note.read_text().splitlines() if line.startswith("iff:")]
    return found


def cloud_init_status(guest: Guest) -> str:
    """How cloud-init ended in this boot. It prints dots while it waits."""
    return guest.run(["cloud-init", "status", "--wait"], timeout=HANG).stdout.split()[-1]


def starts_in_this_boot(guest: Guest) -> int:
    """How often the engine started the container since the guest booted."""
    shown = guest.run(["journalctl", "--boot", "--no-pager", "--output=cat", f"--unit={NAMES.unit}"]).stdout
    return shown.splitlines().count(f"Started {NAMES.unit} - talk.")


def test_a_guest_boots_with_the_document_and_the_container_comes_back_at_the_next_boot(
    folder: Path, tmp_path: Path
) -> None:
    for program in ("qemu-system-x86_64", "qemu-img", "ssh-keygen"):
        part(program)
    made = guest_disk.ensure(say)
    image, archive = web_image("booted"), tmp_path / "image.tar"
    archive.write_bytes(oci_archive(image))
    seed = Seed(container_document(image, answer="yes"), PREPARE)
    ports = {22: free_port(), PORT: free_port()}
    began = time.monotonic()
    with Guest(folder, made, seed, ports, [archive], say) as guest:
        url = f"http://127.0.0.1:{ports[PORT]}/greeting"
        guest.power_on()
        guest.wait_ssh()
        assert fetch_patiently(url, HANG) == b"booted", guest.console
        say(f"{time.monotonic() - began:4.0f} s  from power to the first answer")
        assert cloud_init_status(guest) == "done"
        assert guest.run(["cat", "/var/lib/cloud/instance/user-data.txt"]).stdout == seed.user_data
        assert guest.run(["cloud-id"]).stdout.strip() == "nocloud"
        devices = guest.run(["podman", "exec", NAMES.name, "ls", "/dev"]).stdout.split()
        assert sorted(one for one in devices if one.startswith("nvidia")) == ["nvidia0", "nvidia1"]
        assert starts_in_this_boot(guest) == 1
        ran = guest.run(["stat", "--format=%Y", "/var/lib/cloud/instance/sem/config_runcmd"]).stdout
        guest.power_off()
        restarted = time.monotonic()
        guest.power_on()
        guest.wait_ssh()
        assert fetch_patiently(url, HANG) == b"booted", guest.console
        say(f"{time.monotonic() - restarted:4.0f} s  from power to the answer, the second time")
        assert cloud_init_status(guest) == "done"
        assert guest.run(["stat", "--format=%Y", "/var/lib/cloud/instance/sem/config_runcmd"]).stdout == ran
        assert starts_in_this_boot(guest) == 1, "cloud-init ran the document again"
        assert guest.run(["podman", "ps", "--format={{.Names}}"]).stdout.split() == [NAMES.name]
        pid = guest.pid
        assert pid is not None
        assert taps(pid) == []
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    archive.unlink()
    assert list(tmp_path.iterdir()) == []
