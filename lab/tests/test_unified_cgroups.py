"""Hosts and slices where the machine has version 2 cgroups alone, as stock Debian 12 boots.

The same tests as elsewhere, in a mount namespace that shows nothing else; what they prove need not be said twice.
"""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

_REPOSITORY = Path(__file__).resolve().parents[2]
_VERSION_2_ONLY = """
umount -R /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup
exec "$@"
"""
_HOSTS = ("boot_with_names", "no_failed_unit", "power_cut_is_sudden", "comes_back_after_kill_9")
_SLICES = ("slice_is_a_machine", "slice_goes_on", "only_stopped", "survives_a_power_cut_of_its_host")


def _run(argv: list[str]) -> subprocess.CompletedProcess[str]:
    command = ["unshare", "--mount", "sh", "-ec", _VERSION_2_ONLY, "sh", *argv]
    return subprocess.run(command, cwd=_REPOSITORY, capture_output=True, text=True, timeout=500)


def test_the_view_has_version_2_alone() -> None:
    look = "from gpuaas_lab.cgroup_layouts import find_layout; print(find_layout())"
    assert "Unified" in _run([sys.executable, "-c", look]).stdout


@pytest.mark.parametrize(
    ("path", "chosen"),
    [
        ("lab/tests/test_hosts.py", _HOSTS),
        ("lab/tests/test_slices.py", ()),
        ("lab/tests/test_leaving.py", ("left_in_order", "owner_left_that_was_killed", "locks_its_own_files")),
        ("agent/tests/test_on_lab_hosts.py", _SLICES),
    ],
)
def test_the_lab_works_in_it(path: str, chosen: tuple[str, ...]) -> None:
    done = _run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", path, "-k", " or ".join(chosen)])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
