"""Texts that a host's own Python runs as root. They use its standard library alone and need Python 3.8 or newer."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

PYTHON = "/usr/bin/python3"
_MODULES = (
    "host_files",
    "host_record",
    "host_units",
    "host_packages",
    "host_streams",
    "host_archives",
    "host_downloads",
)
SHARED_MODULES = ("host_engine", "host_room")  # what every app's programs can import
_LOADER = """\
import json, sys, types
for name, text in json.loads({modules!r}):
    sys.modules[name] = module = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)
"""


def host_program(main: str, modules: Mapping[str, str]) -> list[str]:
    """Return the command for `Host.request` that runs the text `main` with the host's own Python.

    `modules` are texts that it imports by name, each before those that import it. It can import what the SDK brings as
    well. `host_engine`: `with images_locked():` keeps apps apart that list or remove podman's images on one host; after five
    minutes, or `images_locked(seconds)`, it raises `LockTimeout`. `host_room`: how much of a disk may still be written.
    """
    taken = set(modules) & set(SHARED_MODULES)
    if taken:
        raise ValueError(f"the SDK has a module {min(taken)} of its own")
    listed = [*((name, _text(name)) for name in SHARED_MODULES), *modules.items()]
    return [PYTHON, "-I", "-c", _LOADER.format(modules=json.dumps(listed)) + main]


@cache
def installer_command() -> list[str]:
    """Return the command that starts the installer on a host. It reads requests until its input ends."""
    return host_program(_text("installer"), {name: _text(name) for name in _MODULES})


def _text(name: str) -> str:
    return files(__name__).joinpath("programs", f"{name}.py").read_text()
