"""A machine that cannot run lab hosts is told what it lacks."""

from pathlib import Path

import pytest

from gpuaas_lab import cgroup_layouts
from gpuaas_lab.cgroup_layouts import Hybrid, Unified, find_layout, layout_problems


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cgroup_layouts, "CGROUP_ROOT", tmp_path)
    return tmp_path


def test_a_machine_without_cgroups_is_told_how_to_get_them(root: Path) -> None:
    assert find_layout() is None
    (problem,) = layout_problems()
    assert problem.startswith(f"no cgroups are mounted at {root}, neither version 2 nor version 1")
    assert f"`mount -t cgroup2 none {root}`" in problem


def test_version_2_alone_is_enough_whatever_its_controllers(root: Path) -> None:
    (root / "cgroup.controllers").write_text("\n")
    assert isinstance(find_layout(), Unified)
    assert layout_problems() == []


def test_version_1_needs_its_controllers_which_may_share_a_mount() -> None:
    names = ["systemd", "memory,pids", "devices", "cpuset", "freezer", "unified"]
    assert Hybrid(tuple(Path(name) for name in names)).problems() == []
    (problem,) = Hybrid((Path("systemd"), Path("memory"))).problems()
    assert "pids, devices, cpuset, freezer" in problem
    assert "unified_cgroup_hierarchy=1" in problem


def test_in_version_2_a_command_joins_the_group_of_the_hosts_first_process(root: Path) -> None:
    processes = root / "proc"
    (processes / "77").mkdir(parents=True)
    (processes / "77/cgroup").write_text("4:memory:/\n0::/glab-1-1/payload/init.scope\n")
    layout = Unified(root, processes)
    assert layout.groups_of_commands("glab-1-1", leader=77) == [root / "glab-1-1/payload/init.scope"]
    assert layout.groups_of_commands("glab-1-1", leader=78) == [root / "glab-1-1"]  # it just ended
