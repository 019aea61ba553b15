"""Installs pinned wheels into the folder of an app, as a virtual environment of the image's own Python.

Every wheel must have one of the hashes of the requirements, and nothing is built. What names the machine that builds
(the first line of scripts, and its hash in the list of files) is written again.
"""

import csv
import io
import shutil
import sys
from pathlib import Path

from gpuaas_catalogue.images.errors import BuildFailed
from gpuaas_catalogue.images.programs import run_program

VENV_PATH = "opt/app"
_PLATFORM = "x86_64-manylinux_2_36"  # the libc of Debian 12
_TIMEOUT = 900.0
_BESIDE = ("bin", "share", "etc")  # what wheels put beside the modules


def install_wheels(requirements: Path, root: Path, python: str) -> None:
    """Install below `root`, whose folder `opt/app` must not exist yet."""
    prefix = root / VENV_PATH
    modules = prefix / f"lib/python{python}/site-packages"
    modules.parent.mkdir(parents=True)
    _unpack(requirements, modules, python)
    for name in _BESIDE:
        if (modules / name).is_dir():
            (modules / name).rename(prefix / name)
    (prefix / "bin").mkdir(exist_ok=True)
    for script in (prefix / "bin").iterdir():
        _correct_first_line(script)
    for record in modules.glob("*.dist-info/RECORD"):
        record.write_text(_corrected(record.read_text()))
    (modules / ".lock").unlink(missing_ok=True)
    (prefix / "pyvenv.cfg").write_text(f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {python}\n")
    for name in ("python", "python3"):
        (prefix / "bin" / name).symlink_to("/usr/bin/python3")


def _unpack(requirements: Path, target: Path, python: str) -> None:
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.is_file() else shutil.which("uv")
    if uv is None:
        raise BuildFailed("uv was not found.", "Run `make setup`, or install uv.")
    options = ["--require-hashes", "--only-binary=:all:", "--no-deps", "--link-mode=copy", "--quiet"]
    place = [f"--target={target}", f"--python-version={python}", f"--python-platform={_PLATFORM}"]
    argv = [uv, "pip", "install", f"--python={sys.executable}", *place, *options, f"--requirements={requirements}"]
    done = run_program(argv, _TIMEOUT)
    if done.returncode != 0:
        raise BuildFailed(
            f"The wheels of {requirements} were not installed: {done.stderr.strip()[-600:]}",
            "Check that this machine reaches its package index, then build again.",
        )


def _correct_first_line(script: Path) -> None:
    content = script.read_bytes()
    first, newline, rest = content.partition(b"\n")
    if first.startswith(b"#!") and b"python" in first:
        script.write_bytes(b"#!/opt/app/bin/python3" + newline + rest)


def _corrected(record: str) -> str:
    """Give scripts and shared files their place relative to the modules; the list is sorted."""
    rows = []
    for row in csv.reader(io.StringIO(record)):
        top = row[0].split("/")[0]
        if top in _BESIDE:
            row[0] = f"../../../{row[0]}"
            row[1:] = ["", ""] if top == "bin" else row[1:]
        rows.append(row)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(sorted(rows))
    return text.getvalue()
