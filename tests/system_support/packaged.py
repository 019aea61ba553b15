"""An app's controller as it is shipped: wheels built from the sources, and a virtual environment made of them."""

import base64
import configparser
import importlib.metadata
import io
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

from gpuaas_lab import Host

ROOT = Path(__file__).parents[2]


def wheels(folder: Path, *sources: Path) -> list[Path]:
    """Built as the container file builds them, from a copy: a build leaves things beside what it builds."""
    copies = []
    for source in sources:
        copies.append(folder / "src" / source.name)
        shutil.copytree(source, copies[-1], ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "-w", folder / "wheels", *copies], check=True, timeout=180)
    return sorted((folder / "wheels").glob("*.whl"))


def entry_points(wheel: Path) -> dict[str, str]:
    """Names of programs, and what they run."""
    with zipfile.ZipFile(wheel) as content:
        [name] = [one for one in content.namelist() if one.endswith(".dist-info/entry_points.txt")]
        text = content.read(name).decode()
    found = configparser.ConfigParser(delimiters=("=",))
    found.read_string(text)
    return dict(found["console_scripts"]) if found.has_section("console_scripts") else {}


def needed(names: list[str]) -> set[str]:
    """Distributions that these need, and those that they need in turn, by their metadata."""
    found: set[str] = set()
    waiting = [Requirement(name) for name in names]
    while waiting:
        requirement = waiting.pop()
        listed = [Requirement(text) for text in importlib.metadata.requires(requirement.name) or []]
        extras = [{"extra": extra} for extra in (requirement.extras or {""})]
        inner = [one for one in listed if one.marker is None or any(one.marker.evaluate(extra) for extra in extras)]
        waiting += [one for one in inner if one.name not in found]
        found |= {one.name for one in inner}
    return found


def install(host: Host, place: str, built: list[Path]) -> None:
    """A virtual environment of the host's own Python, with the wheels, and with what they need from where it is installed."""
    host.run(["python3", "-m", "venv", "--without-pip", place])
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for wheel in built:
            with zipfile.ZipFile(wheel) as content:
                for name in content.namelist():
                    _add(archive, f"lib/python3.11/site-packages/{name}", content.read(name))
            for name, target in entry_points(wheel).items():
                module, _, function = target.partition(":")
                text = f"#!{place}/bin/python\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"
                _add(archive, f"bin/{name}", text.encode(), 0o755)
        for name in needed(["gpuaas-sdk[controller]"]):
            for path, inside in _files(name):
                _add(archive, f"lib/python3.11/site-packages/{inside}", path.read_bytes())
    text = base64.b64encode(packed.getvalue()).decode()
    host.run(["sh", "-c", f"base64 -d | tar -xz -C {place}"], input=text, timeout=60)


def _files(distribution: str) -> Iterator[tuple[Path, str]]:
    for file in importlib.metadata.files(distribution) or []:
        path = Path(str(file.locate()))
        if ".." not in file.parts and path.suffix != ".pyc" and path.is_file():
            yield path, str(file)


def _add(archive: tarfile.TarFile, name: str, content: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), mode
    archive.addfile(entry, io.BytesIO(content))


def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as content:
        return set(content.namelist())
