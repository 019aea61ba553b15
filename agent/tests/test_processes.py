"""Telling processes apart: by the group that systemd tracks them in, and by what a restart does not change."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuaas_agent.host import cgroups
from gpuaas_agent.host.processes import Process

_HYBRID = "9:name=systemd:/system.slice/ssh.service\n4:memory:/\n0::/payload\n"
_MIXED = "9:name=systemd:/\n4:memory:/\n0::/system.slice/ssh.service\n"


def _sshd(command: str) -> Process:
    return Process(44, 1, 1, False, 0, "/usr/sbin/sshd", command, "/system.slice/ssh.service")


@pytest.mark.parametrize(
    ("listing", "unified"), [(_HYBRID, False), (_MIXED, True), ("0::/system.slice/ssh.service\n", True)]
)
def test_the_group_is_the_one_that_the_hosts_systemd_uses(listing: str, unified: bool) -> None:
    assert cgroups.unit_group(listing, unified) == "/system.slice/ssh.service"


def test_a_slices_group_is_looked_for_in_every_hierarchy(tmp_path: Path) -> None:
    for name in ("memory", "systemd"):
        (tmp_path / name).mkdir()
    below = Path("system.slice/s.service")
    assert cgroups.traces_of_unit("s.service", tmp_path) == [tmp_path / "memory" / below, tmp_path / "systemd" / below]
    (tmp_path / "cgroup.controllers").touch()
    assert cgroups.traces_of_unit("s.service", tmp_path) == [tmp_path / below]


def test_an_sshd_that_is_busy_or_just_reloaded_looks_like_an_idle_one_but_not_like_another_program() -> None:
    title = "sshd: /usr/sbin/sshd -D [listener] {} of 10-100 startups"
    assert _sshd(title.format(0)).likeness == _sshd(title.format(3)).likeness
    assert _sshd(title.format(0)).likeness == _sshd("/usr/sbin/sshd -D").likeness
    assert _sshd(title.format(0)).likeness != _sshd("sshd: evil").likeness
