"""Texts that a host's own Python runs as root. They use its standard library alone and need Python 3.8 or newer."""

import json
from functools import cache
from importlib.resources import files

PYTHON = "/usr/bin/python3"
_MODULES = ("host_files", "host_record", "host_units", "host_packages", "host_downloads")
_LOADER = """\
import json, sys, types
for name, text in json.loads({modules!r}):
    sys.modules[name] = module = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)
"""


@cache
def installer_command() -> list[str]:
    """The command that starts the installer on a host. It reads requests until its input ends."""
    modules = json.dumps([(name, _text(name)) for name in _MODULES])
    return [PYTHON, "-I", "-c", _LOADER.format(modules=modules) + _text("installer")]


def _text(name: str) -> str:
    return files(__name__).joinpath("programs", f"{name}.py").read_text()
