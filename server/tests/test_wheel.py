"""The server's wheel has everything that the server reads from its own folder: its SQL, and every module."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

SERVER = Path(__file__).parents[1]
PACKAGE = "gpuaas_server"
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"


def test_the_wheel_has_the_sql_files_and_every_module(tmp_path: Path) -> None:
    source, out = tmp_path / "server", tmp_path / "out"
    shutil.copytree(SERVER / PACKAGE, source / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(SERVER / "pyproject.toml", source)
    out.mkdir()
    subprocess.run([sys.executable, "-c", BUILD, str(out)], cwd=source, check=True, capture_output=True, timeout=240)
    (wheel,) = out.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    files = (path for path in (SERVER / PACKAGE).rglob("*") if path.suffix in (".sql", ".py"))
    needed = {str(path.relative_to(SERVER)) for path in files}
    assert any(name.endswith(".sql") for name in needed)
    assert sorted(needed - packed) == []
